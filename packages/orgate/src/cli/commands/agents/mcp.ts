/** MCP servers: which there are, what they offer, and what was accepted of it. Nothing is started but by `diff` and `trust`. */
import { type Digest, FaultError, type Principal } from "@orgate/core";
import { diffLines, withContext } from "@orgate/protocol/view";
import type { Paint, Screen, Tone } from "@orgate/shell/terminal";
import { type Cell, EXIT, type Given, nextCommand, type RunCommand, table, visible, visibleLines } from "@orgate/shell/terminal";
import { httpReach } from "@orgate/toolclad/running";
import type { Config } from "../../../config/config.ts";
import {
  type Catalogue,
  type CatalogueDifference,
  catalogueDigest,
  compareCatalogues,
  differenceText,
  type OfferedTool,
  readCatalogue,
} from "../../../mcp/catalogue.ts";
import { listVariables, type McpServer } from "../../../mcp/config.ts";
import { buildServerTools } from "../../../mcp/hub.ts";
import { type McpLink, mcpLink } from "../../../mcp/link.ts";
import { dropOthers, toolsSubject, writePinned } from "../../../mcp/pins.ts";
import { sha256 } from "../../../node/crypto.ts";
import { version } from "../../../node/version.ts";
import { type ProjectMcp, type ProjectServer, projectMcp, type ServerState } from "../../../project/project-mcp.ts";
import { loadTrust } from "../../../project/trust-journal.ts";
import { orgateHome } from "../../../store/keyring.ts";
import { certifyIfNeeded, openGivenProject, permittedPerson, tell, writingProject } from "../project/project.ts";
import { appendTrust } from "./trust.ts";

const TONES: Readonly<Record<ServerState, Tone>> = {
  usable: "good",
  untrusted: "warn",
  unaccepted: "warn",
  changed: "bad",
  bad: "bad",
  clash: "bad",
  disabled: "dim",
};

const projectServers = async (given: Given, config: Config): Promise<ProjectMcp> =>
  projectMcp(config, await loadTrust(config.journal), given.env);

// ── list ──

function shownOf(one: ProjectServer, mcp: ProjectMcp, hash = sha256) {
  const { name, origin, state, why, server, digest, accepted, ignored } = one;
  const made = mcp.hub.toolsOf(name);
  const offers = new Map((accepted === null ? [] : readCatalogue(accepted, hash)).map((reading) => [reading.name, reading]));
  return {
    name,
    origin,
    state,
    why: why?.detail ?? null,
    hint: why?.hint ?? null,
    digest,
    reached: server === null ? null : reachedBy(server),
    variables: server === null ? [] : listVariables(server.transport),
    ignored,
    accepted: accepted === null ? null : catalogueDigest(accepted, hash),
    tools: (made?.tools ?? []).map(({ name: tool, repeat, effects, labels, version: pinned }) => ({
      name: tool,
      repeat,
      effects,
      labels,
      digest: pinned,
      hints: offers.get(tool)?.offered.hints ?? {},
    })),
    refused: (made?.refused ?? []).map(({ name: tool, reason }) => ({ name: tool, reason })),
  };
}

/** As its entry has it, variables by name. */
const reachedBy = ({ transport: t }: McpServer): string => (t.kind === "stdio" ? [t.command, ...t.args].join(" ") : t.url);

export const listServers: RunCommand = async (given, screen) => {
  const mcp = await projectServers(given, openGivenProject(given));
  const [wanted = null] = given.args;
  const servers = wanted === null ? mcp.servers : [serverIn(mcp, wanted)];
  const shown = servers.map((one) => shownOf(one, mcp));
  if (given.json) screen.line(JSON.stringify(wanted === null ? { servers: shown, bad: mcp.bad } : shown[0]));
  else if (wanted !== null) for (const one of shown) showServer(one, screen);
  else {
    for (const { file, detail } of mcp.bad) screen.line(`${screen.paint("bad", "bad")} ${visible(file)}: ${visible(detail)}`);
    if (shown.length === 0 && mcp.bad.length === 0)
      screen.line("there is no MCP server: neither in .mcp.json of the project nor in your own mcp.json");
    const rows = shown.map((s): readonly Cell[] => [
      s.name,
      { text: s.state, tone: TONES[s.state] },
      s.origin,
      s.accepted === null ? "" : `${s.tools.length}${s.refused.length === 0 ? "" : ` (${s.refused.length} refused)`}`,
      s.reached ?? "",
      s.why ?? "",
    ]);
    if (rows.length > 0)
      for (const line of table(["server", "state", "whose", "tools", "reached by", ""], rows, screen.paint)) screen.line(line);
    for (const { name, hint } of shown.filter((one) => one.hint !== null))
      screen.line(`${screen.paint("dim", `${visible(name)}:`)} ${visible(hint ?? "")}`);
  }
  return EXIT.success;
};

function showServer(one: ReturnType<typeof shownOf>, { line, paint }: Screen): void {
  const field = (label: string, text: string | null): void => {
    if (text !== null && text !== "") line(`${paint("dim", label.padEnd(12))}${visible(text)}`);
  };
  line(`${paint("strong", visible(one.name))} ${paint(TONES[one.state], one.state)}`);
  field("", one.why);
  field("next", one.hint);
  field("whose", one.origin === "user" ? "yours" : "the project's");
  field("reached by", one.reached);
  field("variables", one.variables.join(", "));
  field("not read", one.ignored.join(", "));
  field("digest", one.digest);
  field("accepted", one.accepted);
  for (const { name, repeat, effects, labels } of one.tools)
    field("tool", `${name} (${repeat}; ${effects.join(", ")}; ${labels.join(", ")})`);
  for (const { name, reason } of one.refused) field("refused", `${name}: ${reason}`);
}

function serverIn(mcp: ProjectMcp, name: string): ProjectServer {
  const found = mcp.servers.find((one) => one.name === name);
  if (found !== undefined) return found;
  const known = mcp.servers.map((one) => one.name);
  const [bad] = mcp.bad;
  const hint =
    known.length > 0 ? `there is: ${known.join(", ")}` : bad === undefined ? "add it to .mcp.json" : `${bad.file}: ${bad.detail}`;
  throw new FaultError({ kind: "usage", detail: `there is no MCP server \`${name}\``, hint });
}

// ── diff ──

export const diffServer: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const [name = ""] = given.args;
  const found = serverIn(await projectServers(given, config), name);
  if (found.state !== "usable" && found.state !== "unaccepted") throw unusable(found);
  const now = await offeredNow(given, config, found);
  const changes = compareCatalogues(found.accepted, now, sha256);
  if (given.json) screen.line(JSON.stringify({ server: name, digest: catalogueDigest(now, sha256), differences: changes }));
  else if (changes.length === 0) screen.line(`${visible(name)} offers what was accepted, and nothing else`);
  else {
    showDifferences(changes, screen);
    screen.line(
      `${screen.paint("dim", "next:")} ${nextCommand(given, `mcp trust ${visible(name)} --digest ${catalogueDigest(now, sha256).slice(0, 16)}`)}`,
    );
  }
  return changes.length === 0 ? EXIT.success : EXIT.failure;
};

function unusable({ name, why }: ProjectServer): FaultError {
  return new FaultError({ kind: "usage", detail: `MCP server \`${name}\` cannot be used: ${why?.detail ?? ""}`, hint: why?.hint ?? "" });
}

const settingsFor = (given: Given, config: Config) => ({
  version: version(),
  root: config.root,
  home: orgateHome(given.env),
  reach: httpReach,
});

/** The one that is named, as its entry stands; one of the project's only as it was trusted. */
export async function usableServer(given: Given): Promise<McpServer> {
  const [name = ""] = given.args;
  const found = serverIn(await projectServers(given, openGivenProject(given)), name);
  if (found.server === null || (found.state !== "usable" && found.state !== "unaccepted")) throw unusable(found);
  return found.server;
}

/** Started for this alone. */
async function offeredNow(given: Given, config: Config, { server, accepted, name }: ProjectServer): Promise<Catalogue> {
  if (server === null)
    throw new FaultError({ kind: "usage", detail: `MCP server \`${name}\` has no entry that can be used`, hint: "mend it" });
  const settings = settingsFor(given, config);
  const link: McpLink = mcpLink({ server, accepted, env: given.env, settings, hash: sha256 });
  try {
    return await link.catalogue(AbortSignal.timeout(server.connectMs * 4));
  } finally {
    await link.close();
  }
}

function showDifferences(changes: readonly CatalogueDifference[], { line, paint }: Screen): void {
  for (const change of changes) {
    line(paint(change.kind === "removed" ? "warn" : "bad", visible(differenceText(change))));
    const [was, now] = [change.kind === "new" ? null : change.was, change.kind === "removed" ? null : change.now];
    if (change.kind === "removed") continue;
    for (const text of textDiff(was === null ? "" : offerText(was), now === null ? "" : offerText(now), paint)) line(text);
  }
}

/** All that is accepted with a tool, as a person reads it: hidden characters shown. */
const offerText = ({ description, inputSchema, outputSchema, hints }: OfferedTool): string =>
  [
    visibleLines(description),
    `arguments: ${visibleLines(JSON.stringify(inputSchema, null, 2))}`,
    ...(outputSchema === null ? [] : [`results: ${visibleLines(JSON.stringify(outputSchema, null, 2))}`]),
    ...(Object.keys(hints).length === 0 ? [] : [`hints (used for nothing): ${visibleLines(JSON.stringify(hints))}`]),
  ].join("\n");

const MAX_LINES = 1_500;
function textDiff(before: string, after: string, paint: Paint): readonly string[] {
  const short = (text: string): string => text.split("\n").slice(0, MAX_LINES).join("\n");
  return withContext(diffLines(short(before), short(after)), 2).map((one) => {
    if (one === null) return paint("dim", "    …");
    const tone: Tone = one.kind === "added" ? "good" : one.kind === "removed" ? "bad" : "dim";
    return paint(tone, `  ${one.kind === "added" ? "+" : one.kind === "removed" ? "-" : " "} ${one.text}`);
  });
}

// ── trust ──

export const trust: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const [name = ""] = given.args;
  const found = serverIn(await projectServers(given, config), name);
  if (found.server === null) throw unusable(found);
  const person = await permittedPerson(given, screen, config, { act: { kind: "trust" }, what: `trust \`mcp:${name}\`` });
  const by: Principal = { kind: "user", id: person.name };
  return writingProject(config, async (place) => {
    await certifyIfNeeded(given, screen, place, person);
    if (found.origin === "project")
      await appendTrust(place, (trusted) =>
        trusted.get(`mcp:${name}`)?.digest === found.digest
          ? null
          : { kind: "trust.given", subject: `mcp:${name}`, digest: found.digest, by },
      );
    const now = await offeredNow(given, config, found).catch((error: unknown) => {
      if (found.origin === "project")
        tell(
          given,
          screen,
          `its entry is trusted now, and nothing that it offers is accepted: \`orgate trust remove mcp:${name}\` takes that back`,
        );
      throw error;
    });
    checkDigest(given, now);
    const accepted = chosen(found.accepted, now, given.text("tools"));
    const changes = compareCatalogues(found.accepted, accepted, sha256);
    const digest = writePinned(config.journal.directory, accepted, sha256);
    await appendTrust(place, (trusted) =>
      trusted.get(toolsSubject(name))?.digest === digest ? null : { kind: "trust.given", subject: toolsSubject(name), digest, by },
    );
    dropOthers(config.journal.directory, name, digest);
    report(given, screen, { name, digest, by: person.name, changes, accepted, link: linkOf(config, found.server) });
    return EXIT.success;
  });
};

const linkOf = (config: Config, server: McpServer | null): McpLink | null =>
  server === null
    ? null
    : mcpLink({
        server,
        accepted: null,
        env: {},
        settings: { version: version(), root: config.root, home: "", reach: httpReach },
        hash: sha256,
      });

function checkDigest(given: Given, now: Catalogue): void {
  const wanted = given.text("digest");
  const digest: Digest = catalogueDigest(now, sha256);
  if (wanted === null || (wanted.length >= 8 && digest.startsWith(wanted))) return;
  throw new FaultError({
    kind: "usage",
    detail: `what it offers has the digest ${digest}, not ${wanted}`,
    hint: "it has changed since you looked: look again",
  });
}

/** Of the tools that are named what is offered now, of the others what was accepted before. */
function chosen(before: Catalogue | null, now: Catalogue, named: string | null): Catalogue {
  if (named === null) return now;
  const names = new Set(named.split(",").map((one) => one.trim()));
  const known = new Set([...now.tools, ...(before?.tools ?? [])].map((tool) => tool.name));
  const stranger = [...names].find((one) => !known.has(one));
  if (stranger !== undefined)
    throw new FaultError({
      kind: "usage",
      detail: `it offers no tool \`${stranger}\``,
      hint: `it offers: ${now.tools.map((t) => t.name).join(", ")}`,
    });
  const kept = (before?.tools ?? []).filter((tool) => !names.has(tool.name));
  const taken = now.tools.filter((tool) => names.has(tool.name));
  return { server: now.server, tools: [...kept, ...taken].sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

type Accepted = Readonly<{
  name: string;
  digest: Digest;
  by: string;
  changes: readonly CatalogueDifference[];
  accepted: Catalogue;
  link: McpLink | null;
}>;

function report(given: Given, screen: Screen, { name, digest, by, changes, accepted, link }: Accepted): void {
  const { tools, refused } = link === null ? { tools: [], refused: [] } : buildServerTools(accepted, link, sha256);
  if (given.json) {
    const said = { server: name, standing: "trusted", digest, by, tools: tools.map((tool) => tool.name), refused, differences: changes };
    screen.line(JSON.stringify(said));
    return;
  }
  showDifferences(changes, screen);
  for (const { name: tool, reason } of refused) screen.line(`${screen.paint("warn", "not usable")} ${tool}: ${visible(reason)}`);
  screen.line(
    `${tools.length} tools of ${visible(name)} are accepted as ${digest.slice(0, 12)}; policies decide about each as tool:${visible(name)}__NAME`,
  );
}
