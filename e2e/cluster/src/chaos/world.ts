/** What a run needs around the processes that it attacks: the outside, a project with somebody who may do things, and the evidence afterwards. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ed25519 } from "orgate";
import { ownFolder } from "../servers/process.ts";
import type { Clients } from "./clients.ts";
import type { Evidence } from "./judge.ts";
import { type Outside, openOutside } from "./outside.ts";
import { type ChaosProject, makeProject, PERSON } from "./project.ts";

/** `token`: an API key of the project's operator. */
export type World = Readonly<{ folder: string; outside: Outside; project: ChaosProject; token: string }>;

/** `settings` and `env`: what the project needs beyond its own, a database for one. */
export type WorldOptions = Readonly<{
  seed: number;
  broken?: string | null;
  settings?: string;
  env?: Readonly<Record<string, string>>;
}>;

export async function openWorld({ seed, broken = null, settings = "", env = {} }: WorldOptions): Promise<World> {
  const folder = ownFolder("chaos");
  const outside = await openOutside(seed, join(folder, "outside.jsonl"));
  const project = makeProject({ folder, outside: outside.url, settings, broken, env });
  await project.orgate(["keys", "create", PERSON]);
  const { token } = JSON.parse(await project.orgate(["keys", "create", PERSON, "--api", "--json"]));
  return { folder, outside, project, token };
}

/** Of a project that nobody works on any more. Its side tables are verified where they are; an export does not have them. */
export async function gatherEvidence(
  folder: string,
  project: ChaosProject,
  outside: Outside,
  env: Readonly<Record<string, string>> = {},
): Promise<Omit<Evidence, "acknowledged">> {
  const file = join(folder, "journal.jsonl");
  await project.orgate(["journal", "export", "--out", file], env);
  await project.orgate(["journal", "verify"], env);
  const root = ed25519.read(readFileSync(join(project.root, ".orgate", "keys", "root.key"), "utf8"))?.publicKey ?? "";
  return { journal: readFileSync(file, "utf8"), root, effects: outside.effects(), requests: outside.requests() };
}

/** Answers what waits for people until nothing runs; what still does then. */
export async function waitForPeace(
  clients: Clients,
  ms: number,
  revive: () => Promise<unknown> = async () => {},
): Promise<readonly string[]> {
  let left: readonly string[] = [];
  let quiet = 0;
  for (const until = performance.now() + ms; performance.now() < until; await sleep(300)) {
    await revive();
    await clients.approveAll();
    left = (await clients.unfinished()) ?? ["no coordinator answers"];
    quiet = left.length === 0 ? quiet + 1 : 0;
    if (quiet === 3) return [];
  }
  return left;
}
