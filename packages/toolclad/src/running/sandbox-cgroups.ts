/**
 * Control groups: the kernel's own counts of memory and processes for a whole tree of processes, whatever their user. Both versions, as found.
 * Whether a group really holds is shown by the self-test, never concluded from here.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where groups can be made: one folder for both counts (version 2), or one each (version 1). */
export type CgroupPlace = Readonly<{ kind: "v2"; folder: string } | { kind: "v1"; memory: string; pids: string }>;
export type FoundPlace = Readonly<{ kind: "place"; place: CgroupPlace } | { kind: "none"; reason: string }>;

export type Cgroup = Readonly<{
  /** A process that writes `0` into each of these is in it, with all it starts from then on. */
  joins: readonly string[];
  /** How often the kernel ended a process for its memory, or refused one for their number. */
  strikes(): Readonly<{ memory: number; processes: number }>;
  remove(): void;
}>;

type Mount = Readonly<{ type: string; root: string; at: string; options: readonly string[] }>;

/** `/proc/self/mountinfo` and `/proc/self/cgroup`. */
export type CgroupStanding = Readonly<{ mountinfo: string; cgroup: string }>;

export const readStanding = (): CgroupStanding => ({
  mountinfo: readFileSync("/proc/self/mountinfo", "utf8"),
  cgroup: readFileSync("/proc/self/cgroup", "utf8"),
});

export function findPlace(standing: CgroupStanding): FoundPlace {
  const mounts = mountsIn(standing.mountinfo);
  const own = new Map(standing.cgroup.split("\n").flatMap(ownLine));
  const whys: string[] = [];
  const v2 = mounts.find((m) => m.type === "cgroup2");
  if (v2 !== undefined) {
    const folder = under(v2, own.get("") ?? "/").find((path) => holdsBoth(path) && canMake(path));
    if (folder !== undefined) return { kind: "place", place: { kind: "v2", folder } };
    whys.push("no folder of the control groups (v2) above this process passes memory and pids on and lets this user make groups in it");
  }
  const [memory, pids] = ["memory", "pids"].map((name) => {
    const mount = mounts.find((m) => m.type === "cgroup" && m.options.includes(name));
    return mount === undefined ? undefined : under(mount, own.get(name) ?? "/").find(canMake);
  });
  if (memory !== undefined && pids !== undefined) return { kind: "place", place: { kind: "v1", memory, pids } };
  if (mounts.some((m) => m.type === "cgroup")) whys.push("this user can make no control groups (v1) for memory and pids");
  return { kind: "none", reason: whys.join("; ") || "no control groups are mounted" };
}

/** Its own folder first, then what that lies in, up to where the hierarchy begins. */
function under({ root, at }: Mount, own: string): readonly string[] {
  const inside = root === "/" ? own : own.startsWith(root) ? own.slice(root.length) : "/";
  const parts = inside.split("/").filter((part) => part !== "" && part !== "..");
  return Array.from({ length: parts.length + 1 }, (_, i) => join(at, ...parts.slice(0, parts.length - i)));
}

function ownLine(line: string): readonly (readonly [string, string])[] {
  const [, names = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
  return path === "" ? [] : names.split(",").map((name) => [name, path] as const);
}

function mountsIn(text: string): readonly Mount[] {
  return text.split("\n").flatMap((line) => {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", at = ""] = before.split(" ");
    const [type = "", , options = ""] = after.split(" ");
    return type === "cgroup" || type === "cgroup2" ? [{ type, root, at, options: options.split(",") }] : [];
  });
}

/** A group has what its parent passes on. */
function holdsBoth(folder: string): boolean {
  const passed = textOf(join(folder, "cgroup.subtree_control")).split(/\s+/);
  return passed.includes("memory") && passed.includes("pids");
}

let made = 0;
function freshName(): string {
  made += 1;
  return `orgate-${process.pid}-${made}`;
}

function canMake(folder: string): boolean {
  const probe = join(folder, freshName());
  try {
    mkdirSync(probe);
    rmdirSync(probe);
    sweep(folder);
    return true;
  } catch {
    return false;
  }
}

/** Groups of processes that were killed before they could tidy up, with the processes left in them. */
function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    const pid = /^orgate-(\d+)-\d+$/.exec(name)?.[1];
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    for (const left of textOf(join(folder, name, "cgroup.procs"))
      .split("\n")
      .map(Number)
      .filter(Boolean))
      kill(left);
    try {
      rmdirSync(join(folder, name));
    } catch {
      // not empty yet: it is for the next look
    }
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // gone
  }
}

const textOf = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
};
const countIn = (path: string, name: string): number => Number(new RegExp(`^${name} (\\d+)$`, "m").exec(textOf(path))?.[1] ?? 0);

/** Throws when the kernel does not take a limit: then there is no such limit. */
export function makeCgroup(place: CgroupPlace, limits: Readonly<{ memoryBytes: number; processes: number }>): Cgroup {
  const name = freshName();
  const folders = place.kind === "v2" ? [join(place.folder, name)] : [join(place.memory, name), join(place.pids, name)];
  for (const folder of folders) mkdirSync(folder);
  const [memory = "", pids = memory] = folders;
  const remove = (): void => {
    for (const folder of folders) {
      try {
        rmdirSync(folder);
      } catch {
        // still being emptied: it counts nothing any more, and the next look at leftovers takes it
      }
    }
  };
  try {
    if (place.kind === "v2") {
      writeFileSync(join(memory, "memory.max"), String(limits.memoryBytes));
      writeIfThere(join(memory, "memory.swap.max"), "0");
      writeIfThere(join(memory, "memory.oom.group"), "1");
    } else {
      writeFileSync(join(memory, "memory.limit_in_bytes"), String(limits.memoryBytes));
      writeIfThere(join(memory, "memory.memsw.limit_in_bytes"), String(limits.memoryBytes));
    }
    writeFileSync(join(pids, "pids.max"), String(limits.processes));
  } catch (error) {
    remove();
    throw error;
  }
  const strikes = () => ({
    memory: countIn(join(memory, place.kind === "v2" ? "memory.events" : "memory.oom_control"), "oom_kill"),
    processes: countIn(join(pids, "pids.events"), "max"),
  });
  // a process of one thread that moves itself by `tasks` waits for nobody; by `cgroup.procs` it waits until all processors have looked up
  const door = place.kind === "v2" ? "cgroup.procs" : "tasks";
  return { joins: folders.map((folder) => join(folder, door)), strikes, remove };
}

/** Swap is not counted everywhere; where it is, it is no way around the limit. */
function writeIfThere(path: string, value: string): void {
  if (textOf(path) !== "") writeFileSync(path, value);
}
