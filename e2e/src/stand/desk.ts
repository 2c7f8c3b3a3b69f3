/** A project on disk, with Cedar policies, and the real command line in processes that can be watched and killed like any victim. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callsIn, createPerson, createRuntime, ed25519, readState, sha256, tableGate } from "orgate";
import { withOpenProject } from "../checks.ts";
import { DESK_POLICIES } from "./desk-policies.ts";
import { PERSON } from "./script.ts";
import type { Plan, Stand, Victim } from "./stand.ts";
import { type Broken, decode } from "./wire.ts";

export const APPROVER = "bo";
const ORGATE = join(import.meta.dirname, "..", "..", "..", "packages", "orgate", "bin", "orgate.js");

export type Desk = Readonly<{
  root: string;
  /** Of journal and keys. */
  directory: string;
  /** The command line in a process of its own. */
  cli(args: readonly string[], plan?: Omit<Plan, "directory" | "jobs">): Promise<Victim>;
  /** Runs a command that must exit with one of these codes; returns its JSON. */
  json<T>(args: readonly string[], ...codes: readonly number[]): Promise<T>;
  /** A program of the stand's own in the project. */
  program(file: string, args: readonly string[], plan?: Omit<Plan, "directory" | "jobs">, flags?: readonly string[]): Promise<Victim>;
  /** Requests to the model, as it counted them. */
  requests(): number;
  /** A copy whose processes all use that build. */
  copy(broken?: Broken | null): Desk;
}>;

export type OpenQuestion = Readonly<{ approval: string; session: string; tool: string; digest: string }>;

export async function makeDesk(stand: Stand): Promise<Desk> {
  const root = stand.bareProject();
  const write = (file: string, text: string): void => {
    mkdirSync(join(root, file, ".."), { recursive: true });
    writeFileSync(join(root, file), text);
  };
  write("orgate.toml", '[project]\nname = "desk"\n');
  write(
    "agents/desk.ts",
    `import { deskAgent } from ${JSON.stringify(join(import.meta.dirname, "desk-agent.ts"))};\nexport default deskAgent("requests.log");\n`,
  );
  write("policies/desk.cedar", DESK_POLICIES);
  const directory = join(root, ".orgate");
  const runtime = await createRuntime({ directory, agents: [], gate: tableGate([], sha256), principal: { kind: "system", id: "e2e" } });
  for (const name of [PERSON, APPROVER]) {
    const person = createPerson(join(root, "home"), name, ed25519);
    await runtime.place.keyring.certifyPerson(name, person.key.publicKey);
  }
  await runtime.close();
  return deskAt(stand, root, null);
}

/** A folder in which the command line is yet to make one. */
export const projectAt = (stand: Stand, root: string): Desk => deskAt(stand, root, null);

function deskAt(stand: Stand, root: string, broken: Broken | null): Desk {
  const directory = join(root, ".orgate");
  const start: Desk["program"] = (file, args, plan = {}, flags = []) =>
    stand.start({ directory, jobs: [], broken, ...plan }, { argv: [...flags, file, ...args], cwd: root, home: join(root, "home") });
  const cli: Desk["cli"] = (args, plan) => start(ORGATE, args, plan);
  return {
    root,
    directory,
    cli,
    program: (file, args, plan, flags) => start(join(import.meta.dirname, file), args, plan, flags),
    async json<T>(args: readonly string[], ...codes: readonly number[]) {
      const process = await cli([...args, "--json"]);
      const how = await process.gone;
      if (!(codes.length === 0 ? [0] : codes).map(String).includes(how))
        throw new Error(`orgate ${args.join(" ")} ended (${how}): ${process.complaint()} ${process.output()}`);
      return decode<T>(process.output());
    },
    requests() {
      const log = join(root, "requests.log");
      return existsSync(log) ? readFileSync(log, "utf8").trimEnd().split("\n").length : 0;
    },
    copy(build = null) {
      const to = stand.bareProject();
      cpSync(root, to, { recursive: true });
      return deskAt(stand, to, build);
    },
  };
}

export const runArgs = (input: string): readonly string[] => ["run", "desk", "--input", input, "--as", PERSON, "--json"];
export const approveArgs = (approval: string, by: string): readonly string[] => ["approvals", "approve", approval, "--as", by];
export const openQuestions = (desk: Desk): Promise<readonly OpenQuestion[]> => desk.json(["approvals", "list"]);

/** `unknowns`: calls with an unknown outcome. */
export type Standing = Readonly<{ session: string; state: string; unknowns: readonly string[]; questions: readonly OpenQuestion[] }>;

/** The newest session and its open approval requests, read in this process because that is faster. */
export function standingOf(desk: Desk): Promise<Standing> {
  return withOpenProject(desk.directory, async ({ journal }) => {
    const [newest] = await journal.sessions({ state: null, agent: null, before: null, most: 1 });
    if (newest === undefined) throw new Error("there is no session");
    const { session, state } = newest;
    const { turn, unknowns } = await readState({ journal }, session);
    const questions = [...(turn?.questions.values() ?? [])].filter((q) => q.answer === null);
    const toolOf = (action: string): string => callsIn(turn).find((c) => String(c.proposed.id) === action)?.proposed.tool ?? action;
    return {
      session,
      state,
      unknowns: [...unknowns.keys()],
      questions: questions.map(({ approval, digest, action }) => ({ approval, session, tool: toolOf(action), digest })),
    };
  });
}

/** The approval requests that a run leaves open once it is parked. */
export async function parked(desk: Desk, input: string): Promise<readonly OpenQuestion[]> {
  const run = await desk.cli(runArgs(input));
  const how = await run.gone;
  if (how !== "3") throw new Error(`the run did not park (${how}): ${run.complaint()} ${run.output()}`);
  return openQuestions(desk);
}
