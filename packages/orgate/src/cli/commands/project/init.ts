/** A project to start from: settings, policies with their tables, an agent as a module and one as TOML, and what they need. */

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs";
import { basename, dirname, join, matchesGlob, relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { FaultError } from "@orgate/core";
import { errorMessage } from "@orgate/core/vocab";
import type { Screen } from "@orgate/shell/terminal";
import { commandName, EXIT, type Given, INTERRUPTED, nextCommand, type RunCommand, shellWord, visible } from "@orgate/shell/terminal";
import { readConductor, readCoordinator, readShellAgent, readStarterPolicies, type StarterFile } from "../../../starter/starter-files.ts";
import {
  isKind,
  isProfile,
  KIND_STARTERS,
  KINDS,
  PROFILE_STARTERS,
  PROFILES,
  type Starter,
  starterProject,
} from "../../../starter/starters.ts";
import { notePrograms } from "./programs-note.ts";
import { findCaller } from "./project.ts";
import { openGivenProject } from "./read-only.ts";

/** A-14 nothing that is there is overwritten: one file in the way, and nothing is written. */
export const init: RunCommand = async (given, screen) => {
  if (given.flag("shell")) return withShell(given, screen);
  const folder = resolve(given.cwd, given.args[0] ?? given.project ?? ".");
  const { kind, starter } = chooseStarter(given);
  const name = nameOf(folder);
  const agreed = given.flag("yes") || (await agrees(screen, `make ${kind} project \`${name}\` in ${folder}?`));
  if (!agreed) throw usage("nothing was made", "`orgate init DIR --yes` asks nothing");
  const person = findCaller(given, screen);
  const files = [
    ...starterProject(starter, { name, user: person.name }),
    ...readStarterPolicies(starter.folder),
    ...readCoordinator(),
    ...readConductor(),
    ...readShellAgent(),
  ];
  refuseOverwriting(folder, files);
  const made = writeAll(folder, files);
  const kept = files.map(({ path }) => path).filter((path) => !made.includes(path));
  if (given.json) screen.line(JSON.stringify({ project: folder, name, kind, user: person.name, files: made, kept }));
  else {
    screen.line(`made ${kind} project ${screen.paint("strong", visible(name))}, ${person.name} may approve:`);
    for (const path of made) screen.line(`  ${path}`);
    if (kept.length > 0) screen.line(`kept as they were: ${kept.join(", ")}`);
    if (kept.includes(".gitignore") && !isIgnored(folder))
      screen.line(`${screen.paint("warn", "!")} put .orgate/ into .gitignore: it holds the project's keys`);
    const where = relative(given.cwd, folder);
    const said = JSON.stringify(starter.first);
    const more = kept.includes("README.md") ? "" : ", then see README.md";
    const run = `run ${starter.agent} --input ${said}`;
    const byName = commandName(given.env) === "orgate" && where !== "";
    const next = byName
      ? `cd ${shellWord(where)} && orgate ${run}`
      : nextCommand({ env: given.env, project: where === "" ? null : where }, run);
    screen.line("every agent runs on the offline model, which needs no key, until `[models] default` in orgate.toml names another");
    await notePrograms(screen);
    screen.line(`${screen.paint("dim", "next:")} ${next}${more}`);
  }
  return EXIT.success;
};

const isIgnored = (folder: string): boolean =>
  readFileSync(join(folder, ".gitignore"), "utf8")
    .split("\n")
    .some((line) => /^\/?\.orgate\/?\**$/.test(line.trim()));

/** S-21 a project that has none gets the shell's agent and its policies, from then on its own to edit. */
function withShell(given: Given, screen: Screen): number {
  if (given.args.length > 0 || given.text("kind") !== null || given.text("profile") !== null)
    throw usage(
      "--shell is for a project that is there",
      "`orgate init --shell` inside of it; a new project has the shell's agent already",
    );
  const { root, agents, file } = openGivenProject(given);
  const files = readShellAgent();
  const unread = files.find(({ path }) => path.startsWith("agents/") && !agents.some((pattern) => matchesGlob(path, pattern)));
  if (unread !== undefined)
    throw usage(`the project does not read ${unread.path}, and its policies speak of it`, `add "agents/*.symbi" to \`agents\` in ${file}`);
  const there = files.find(({ path }) => existsSync(join(root, path)));
  if (there !== undefined) throw inTheWay(join(root, there.path), 0);
  const made = writeAll(root, files);
  if (given.json) screen.line(JSON.stringify({ project: root, files: made }));
  else for (const path of made) screen.line(`wrote ${path}`);
  return EXIT.success;
}

/** A-14 by its profile, or by its kind. */
function chooseStarter(given: Given): Readonly<{ kind: string; starter: Starter }> {
  const [profile, kind] = [given.text("profile"), given.text("kind")];
  if (profile === null) {
    const wanted = kind ?? "assistant";
    if (!isKind(wanted)) throw usage(`--kind is \`${wanted}\``, `use ${KINDS.join(", ")}`);
    return { kind: wanted, starter: KIND_STARTERS[wanted] };
  }
  if (kind !== null) throw usage("--profile and --kind are two ways to say it", "give one of them");
  if (!isProfile(profile)) throw usage(`--profile is \`${profile}\``, `use ${PROFILES.join(", ")}`);
  return { kind: profile, starter: PROFILE_STARTERS[profile] };
}

const nameOf = (folder: string): string =>
  basename(folder)
    .replaceAll(/[^A-Za-z0-9 ._-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 64) || "project";

async function agrees(screen: Screen, question: string): Promise<boolean> {
  if (!screen.isTerminal || !process.stdin.isTTY) throw usage("there is no terminal to ask on", "`orgate init DIR --yes` asks nothing");
  const asking = createInterface({ input: process.stdin, output: process.stdout });
  const left = new Promise<string>((resolve, reject) => {
    asking.once("close", () => resolve("")); // the end of the input
    asking.once("SIGINT", () => {
      process.stdout.write("\n");
      reject(new FaultError({ kind: "usage", detail: "nothing was made", hint: "`orgate init DIR --yes` asks nothing" }, INTERRUPTED));
    });
  });
  try {
    return /^y(es)?$/i.test((await Promise.race([asking.question(`${question} [y/N] `), left])).trim());
  } finally {
    asking.close();
  }
}

/** A package or a git project may be there already: what it has is kept, and what init would add to is left alone. */
const KEPT = new Set(["package.json", ".gitignore", "README.md"]);

function refuseOverwriting(folder: string, files: readonly StarterFile[]): void {
  for (const place of new Set(["", ...files.map(({ path }) => dirname(path))])) {
    const found = statSync(join(folder, place), { throwIfNoEntry: false });
    if (found !== undefined && !found.isDirectory()) throw bad(join(folder, place), "it is no folder; nothing was written", ELSEWHERE);
  }
  const there = files.filter(({ path }) => !KEPT.has(path) && existsSync(join(folder, path)));
  const [first, ...more] = there;
  if (first === undefined && !existsSync(join(folder, "policies"))) return;
  throw inTheWay(join(folder, first?.path ?? "policies"), more.length);
}
const ELSEWHERE = "choose another folder, or move it away";

/** A-14 all of them or none: what was made is taken away again where the rest cannot be. Tells which were made. */
function writeAll(folder: string, files: readonly StarterFile[]): readonly string[] {
  const made: string[] = [];
  let at = folder;
  try {
    for (const { path, text } of files) {
      at = join(folder, path);
      writeNew(at, text, () => made.push(path));
    }
    return made;
  } catch (error) {
    for (const path of made) rmSync(join(folder, path), { force: true });
    const detail = errorMessage(error);
    throw bad(at, `it cannot be written: ${detail.replace(/,.*$/, "")}; nothing was made`, "choose a folder that you may write to");
  }
}
const inTheWay = (file: string, more: number): FaultError =>
  bad(
    file,
    `it is there already${more === 0 ? "" : `, and ${more} more`}; nothing was written`,
    `init makes a project where there is none; ${ELSEWHERE}`,
  );

/** Created, never replaced, even when two processes race. */
function writeNew(file: string, text: string, made: () => void): void {
  mkdirSync(dirname(file), { recursive: true });
  if (KEPT.has(basename(file)) && existsSync(file)) return;
  const fd = openSync(file, "wx");
  made();
  try {
    writeSync(fd, text);
  } finally {
    closeSync(fd);
  }
}

const bad = (file: string, detail: string, hint: string): FaultError =>
  new FaultError({ kind: "file-bad", file, line: null, column: null, detail, hint });
const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
