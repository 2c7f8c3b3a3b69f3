/** Resources of the project that need trust, and who gave it. */

import { type Digest, FaultError, isFault, type Millis, type SystemEvent, seq, skillName, TRUST } from "@orgate/core";
import { entryPages } from "@orgate/core/journal";
import type { Tone } from "@orgate/shell/terminal";
import { type Cell, EXIT, type RunCommand, table, visible } from "@orgate/shell/terminal";
import type { Config } from "../../../config/config.ts";
import { readPinned } from "../../../mcp/pins.ts";
import { sha256 } from "../../../node/crypto.ts";
import { type Candidate, findTrustState, type Trusted, type TrustState, trustCandidates } from "../../../project/trust.ts";
import { loadTrust, readTrust } from "../../../project/trust-journal.ts";
import { NODE } from "../../../runtime/ports/outside.ts";
import type { OpenProjectStore } from "../../../runtime/ports/project-store.ts";
import { certifyIfNeeded, openGivenProject, permittedPerson, withReadOnlyStoreIfAny, writingProject } from "../project/project.ts";

const TONES: Readonly<Record<TrustState, Tone>> = { trusted: "good", changed: "bad", untrusted: "warn", gone: "dim" };

type Shown = Readonly<{
  subject: string;
  standing: TrustState;
  digest: Digest | null;
  trustedAs: Digest | null;
  by: string | null;
  detail: string | null;
}>;

function shownOf(config: Config, trusted: Trusted): readonly Shown[] {
  const found = new Map([...trustCandidates(config, sha256, trusted.keys()), ...catalogues(config, trusted)].map((c) => [c.subject, c]));
  return [...new Set([...found.keys(), ...trusted.keys()])].map((subject) => {
    const candidate: Candidate | undefined = found.get(subject);
    const digest = candidate?.kind === "readable" ? candidate.digest : null;
    const given = trusted.get(subject);
    return {
      subject,
      standing: findTrustState(subject, digest, trusted),
      digest,
      trustedAs: given?.digest ?? null,
      by: given?.by.id ?? null,
      detail: candidate?.kind === "unreadable" ? candidate.detail : null,
    };
  });
}

/** An accepted MCP catalogue stays trusted as long as its file is unchanged; `orgate mcp diff` looks at the server. */
const catalogues = (config: Config, trusted: Trusted): readonly Candidate[] =>
  [...trusted].flatMap(([subject, { digest }]): readonly Candidate[] => {
    const server = subject.startsWith("mcp-tools:") ? subject.slice("mcp-tools:".length) : null;
    const isThere = server !== null && readPinned(config.journal.directory, server, digest, sha256) !== null;
    return isThere ? [{ subject, kind: "readable", digest }] : [];
  });

export const listTrust: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const shown = shownOf(
    config,
    await withReadOnlyStoreIfAny<Trusted>(
      given,
      ({ journal }) => readTrust(journal),
      () => new Map(),
    ),
  );
  if (given.json) screen.line(JSON.stringify(shown));
  else if (shown.length === 0) screen.line("this project brings nothing along that needs trust");
  else {
    const rows = shown.map((s): readonly Cell[] => [
      s.subject,
      { text: s.standing, tone: TONES[s.standing] },
      s.digest?.slice(0, 12) ?? "",
      s.by === null ? "" : `${s.by}, as ${s.trustedAs?.slice(0, 12) ?? ""}`,
      s.detail ?? "",
    ]);
    for (const line of table(["what", "state", "digest", "trusted by", ""], rows, screen.paint)) screen.line(line);
  }
  return EXIT.success;
};

export const addTrust: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const [asked = ""] = given.args;
  const all = trustCandidates(config, sha256, [asked]);
  const candidate = all.find((c) => c.subject === asked) ?? all.find((c) => c.subject === skillName(asked));
  if (candidate === undefined) throw missing(asked, config);
  const { subject } = candidate;
  if (candidate.kind === "unreadable")
    throw new FaultError({ kind: "usage", detail: `\`${subject}\` cannot be trusted: ${candidate.detail}`, hint: "mend it first" });
  const wanted = given.text("digest");
  if (wanted !== null && (wanted.length < 8 || !candidate.digest.startsWith(wanted)))
    throw new FaultError({
      kind: "usage",
      detail: `\`${subject}\` has the digest ${candidate.digest}, not ${wanted}`,
      hint: "it has changed since you looked: look again",
    });
  const person = await permittedPerson(given, screen, config, { act: { kind: "trust" }, what: `trust \`${subject}\`` });
  await writingProject(config, async (place) => {
    await certifyIfNeeded(given, screen, place, person);
    await appendTrust(place, (trusted) =>
      findTrustState(subject, candidate.digest, trusted) === "trusted"
        ? null
        : { kind: "trust.given", subject, digest: candidate.digest, by: { kind: "user", id: person.name } },
    );
  });
  if (given.json) screen.line(JSON.stringify({ subject, digest: candidate.digest, standing: "trusted", by: person.name }));
  else screen.line(`${visible(subject)} is trusted as ${candidate.digest.slice(0, 12)}; another text under that name is not`);
  return EXIT.success;
};

export const removeTrust: RunCommand = async (given, screen) => {
  const config = openGivenProject(given);
  const [asked = ""] = given.args;
  const known = await loadTrust(config.journal);
  const subject = known.has(asked) ? asked : skillName(asked);
  if (!known.has(subject)) throw isThere(config, subject) ? notTrusted(subject) : missing(asked, config);
  const person = await permittedPerson(given, screen, config, { act: { kind: "trust" }, what: `take back the trust in \`${subject}\`` });
  const reason = given.text("reason") ?? "";
  await writingProject(config, async (place) => {
    await certifyIfNeeded(given, screen, place, person);
    await appendTrust(place, (trusted) =>
      trusted.has(subject) ? { kind: "trust.withdrawn", subject, by: { kind: "user", id: person.name }, reason } : null,
    );
  });
  if (given.json) screen.line(JSON.stringify({ subject, standing: "untrusted", by: person.name }));
  else screen.line(`${visible(subject)} is no longer trusted`);
  return EXIT.success;
};

const isThere = (config: Config, subject: string): boolean => trustCandidates(config, sha256, []).some((one) => one.subject === subject);
const notTrusted = (subject: string): FaultError =>
  new FaultError({
    kind: "usage",
    detail: `nothing was taken back: \`${subject}\` is not trusted`,
    hint: "`orgate trust list` shows what is",
  });

/** Reads again before every attempt: somebody else may have written first. */
export async function appendTrust(place: OpenProjectStore, plan: (trusted: Trusted) => SystemEvent | null): Promise<void> {
  const { journal } = place.store;
  const now = (): Millis => NODE.clock.now();
  for (;;) {
    const event = plan(await readTrust(journal));
    if (event === null) return;
    let after = seq(0);
    for await (const page of entryPages(journal, TRUST)) after = page.at(-1)?.seq ?? after;
    try {
      await journal.append({ stream: TRUST, after, hold: null, events: [{ at: now(), event }], consumes: [], unlessHalted: [] });
      return;
    } catch (error) {
      if (!isFault(error, "append-conflict")) throw error;
    }
  }
}

function missing(subject: string, config: Config): FaultError {
  const known = trustCandidates(config, sha256).map((c) => c.subject);
  return new FaultError({
    kind: "usage",
    detail: `there is nothing called \`${subject}\` to trust`,
    hint: known.length === 0 ? "this project has no AGENTS.md, skill or MCP server" : `there is: ${known.join(", ")}`,
  });
}
