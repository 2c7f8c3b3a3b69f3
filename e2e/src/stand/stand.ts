/** The runner's side of the stand: the counter, victims with a time limit, and project folders that are deleted afterwards. */
import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPerson, createRuntime, ed25519, sha256, tableGate } from "orgate";
import { PERSON } from "./script.ts";
import { encode, type Line, type Order, type Orders, type Report } from "./wire.ts";

/** Nothing takes this long even on a busy machine; a process that does is killed and fails. */
const BOUND_MS = 60_000;
const here = (name: string): string => join(import.meta.dirname, name);

export type Plan = Pick<Orders, "directory" | "jobs"> & Partial<Omit<Orders, "victim" | "home" | "directory" | "jobs">>;

/** The program of a process; the stand's own victim by default. */
export type Program = Readonly<{ argv: readonly string[]; cwd: string; home: string }>;

export type Victim = Readonly<{
  name: string;
  /** All its lines that the counter has reported. */
  lines: readonly Line[];
  /** The first line that matches; rejects if the victim ends without it. */
  until<K extends Line["kind"]>(kind: K, fits?: (line: Extract<Line, { kind: K }>) => boolean): Promise<Extract<Line, { kind: K }>>;
  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void;
  /** Lets the counter answer what it holds. */
  answer(what: string): void;
  /** Waits for its end and its last line; the signal that ended it, or its exit code. */
  gone: Promise<string>;
  complaint(): string;
  output(): string;
}>;

export type Stand = Readonly<{
  scratch: string;
  start(plan: Plan, program?: Program): Promise<Victim>;
  /** A copy of a fresh project whose keys are made and certified. */
  project(): string;
  /** A project without a journal or keys. */
  bareProject(): string;
  /** A small file system of its own; null where none may be mounted. */
  smallDisk(megabytes: number): string | null;
  /** How many processes were started. */
  started(): number;
  close(): Promise<void>;
}>;

export async function openStand(): Promise<Stand> {
  const scratch = mkdtempSync(join(tmpdir(), "orgate-e2e-"));
  const socketPath = join(scratch, "counter.sock");
  const home = join(scratch, "home");
  const counter = fork(here("counter.ts"), [socketPath], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const alive = new Set<ChildProcess>([counter]);
  const guests = new Map<string, (line: Line) => void>();
  counter.once("exit", (code, signal) => {
    console.error(`the counter ended (${signal ?? code}): nothing can be said without it`);
    process.exit(1);
  });
  const listening = new Promise<void>((resolve) => {
    counter.on("message", (report: Report) => {
      if (report.kind === "listening") resolve();
      else guests.get(report.line.victim)?.(report.line);
    });
  });
  let count = 0;

  const mounts = new Set<string>();
  const killAll = (): void => {
    for (const child of alive) child.kill("SIGKILL");
    for (const disk of mounts) spawnSync("umount", ["--lazy", disk], { stdio: "ignore" });
    rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once("exit", killAll);
  await listening;
  const template = await makeTemplate(scratch, home);

  const itself: Program = { argv: [here("victim.ts")], cwd: scratch, home };
  async function start(plan: Plan, program: Program = itself): Promise<Victim> {
    const name = `v${++count}`;
    const child = await spawnVictim({ name, scratch, socketPath }, plan, program);
    alive.add(child);
    return toVictim({ counter, alive, guests }, name, child);
  }

  let projects = 0;
  const bareProject = (): string => {
    const directory = join(scratch, `p${++projects}`);
    mkdirSync(directory);
    return directory;
  };
  return {
    scratch,
    start,
    bareProject,
    project() {
      const directory = bareProject();
      cpSync(template, directory, { recursive: true });
      return directory;
    },
    smallDisk(megabytes) {
      const disk = bareProject();
      const isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", disk], { stdio: "ignore" }).status === 0;
      if (isMounted) mounts.add(disk);
      return isMounted ? disk : null;
    },
    started: () => count,
    async close() {
      counter.removeAllListeners("exit");
      counter.disconnect();
      await once(counter, "exit");
      process.removeListener("exit", killAll);
      alive.delete(counter);
      killAll();
    },
  };
}

/** A process with a socket to the counter as descriptor 3, and its orders in its environment. */
async function spawnVictim(
  { name, scratch, socketPath }: Readonly<{ name: string; scratch: string; socketPath: string }>,
  plan: Plan,
  { argv, cwd, home }: Program,
): Promise<ChildProcess> {
  const orders: Orders = { stop: null, hold: [], seed: null, broken: null, fullAt: null, counted: false, ...plan, victim: name, home };
  const line = connect(socketPath).pause(); // paused: the victim reads from it, not we
  await once(line, "connect");
  await new Promise<void>((sent) => line.write(encode({ kind: "guest", orders }), () => sent()));
  const files = ["points.ts", ...(orders.broken === null ? [] : ["broken.ts"]), ...(orders.counted ? ["queries.ts"] : [])];
  const imports = files.flatMap((file) => ["--import", here(file)]);
  const env = {
    ...process.env,
    ORGATE_E2E: JSON.stringify(orders),
    ORGATE_HOME: home,
    NODE_COMPILE_CACHE: join(scratch, "compiled"),
  };
  const child = spawn(process.execPath, ["--expose-gc", ...imports, ...argv], { stdio: ["ignore", "pipe", "pipe", line], env, cwd });
  line.destroy();
  return child;
}

/** The stand's processes: who receives which victim's lines, and which are killed when the stand closes. */
type Processes = Readonly<{ counter: ChildProcess; alive: Set<ChildProcess>; guests: Map<string, (line: Line) => void> }>;

function toVictim({ counter, alive, guests }: Processes, name: string, child: ChildProcess): Victim {
  const lines: Line[] = [];
  const waiting = new Set<(line: Line) => void>();
  let [complaint, output] = ["", ""];
  let late = false;
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    complaint += text;
  });
  const bound = setTimeout(() => {
    late = true;
    child.kill("SIGKILL");
  }, BOUND_MS);
  const exited = once(child, "close").then(([code, signal]) => String(signal ?? code));
  const said = new Promise<void>((resolve) => {
    guests.set(name, (line) => {
      lines.push(line);
      for (const see of [...waiting]) see(line);
      if (line.kind === "gone") resolve();
    });
  });
  const gone = Promise.all([exited, said]).then(([how]) => {
    clearTimeout(bound);
    alive.delete(child);
    guests.delete(name);
    if (late) throw new Error(`${name} took longer than ${BOUND_MS} ms and was killed; its last line: ${JSON.stringify(lines.at(-2))}`);
    return how;
  });
  gone.catch(() => {});
  return {
    name,
    lines,
    gone,
    complaint: () => complaint.trim(),
    output: () => output,
    signal: (signal) => void child.kill(signal),
    answer: (what) => void counter.send({ kind: "answer", victim: name, what } satisfies Order),
    until(kind, fits = () => true) {
      type Wanted = Extract<Line, { kind: typeof kind }>;
      const isWanted = (line: Line): line is Wanted => line.kind === kind && fits(line as Wanted);
      return new Promise<Wanted>((resolve, reject) => {
        const see = (line: Line): void => {
          if (isWanted(line)) resolve(line);
          else if (line.kind === "gone")
            reject(new Error(`${name} ended without saying \`${kind}\`${complaint === "" ? "" : `: ${complaint.trim()}`}`));
          else return;
          waiting.delete(see);
        };
        waiting.add(see);
        for (const line of [...lines]) if (waiting.has(see)) see(line);
      });
    },
  };
}

/** The person's key is certified beforehand, and so is the first writer's. */
async function makeTemplate(scratch: string, home: string): Promise<string> {
  const directory = join(scratch, "template");
  const person = createPerson(home, PERSON, ed25519);
  const runtime = await createRuntime({
    directory,
    agents: [],
    gate: tableGate([], sha256),
    principal: { kind: "system", id: "e2e" },
  });
  await runtime.place.keyring.certifyPerson(person.name, person.key.publicKey);
  await runtime.close();
  return directory;
}
