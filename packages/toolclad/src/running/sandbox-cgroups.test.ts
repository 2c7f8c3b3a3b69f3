import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { temporaryFolder } from "./fixtures/programs.ts";
import { findPlace, makeCgroup } from "./sandbox-cgroups.ts";

const made: { remove(): void }[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) folder.remove();
});

/** A tree as a kernel shows it; that groups hold is for the self-test to show, on a real one. */
function tree(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder("cgroups");
  made.push(folder);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder.path, path, ".."), { recursive: true });
    writeFileSync(join(folder.path, path), text);
  }
  return folder.path;
}
const mount = (at: string, type: string, options: string, root = "/") =>
  `30 24 0:26 ${root} ${at} rw,nosuid shared:9 - ${type} ${type} rw,${options}\n`;

test("T-28 version 2: the nearest folder that passes memory and pids on, from its own upwards, also inside a container", () => {
  const at = tree({
    "user.slice/app.slice/cgroup.subtree_control": "cpu memory pids",
    "user.slice/app.slice/run.scope/cgroup.subtree_control": "",
    "user.slice/cgroup.subtree_control": "memory pids",
  });
  const own = "0::/user.slice/app.slice/run.scope\n";
  const place = { kind: "v2", folder: join(at, "user.slice/app.slice") };
  expect(findPlace({ mountinfo: mount(at, "cgroup2", "nsdelegate"), cgroup: own })).toEqual({ kind: "place", place });
  const inner = mount(join(at, "user.slice"), "cgroup2", "x", "/user.slice");
  expect(findPlace({ mountinfo: inner, cgroup: own })).toEqual({ kind: "place", place });
  expect(readdirSync(join(at, "user.slice/app.slice"))).toEqual(["cgroup.subtree_control", "run.scope"]);
});

test("T-28 version 1: one folder for each count, where this process is in each; without both there is none, and the reason says so", () => {
  const at = tree({ "memory/a/tasks": "", "pids/b/c/tasks": "" });
  const mountinfo = mount(join(at, "memory"), "cgroup", "memory") + mount(join(at, "pids"), "cgroup", "pids");
  const found = findPlace({ mountinfo, cgroup: "4:memory:/a\n3:cpu,pids:/b/c\n0::/\n" });
  expect(found).toEqual({ kind: "place", place: { kind: "v1", memory: join(at, "memory/a"), pids: join(at, "pids/b/c") } });
  expect(findPlace({ mountinfo: mount(join(at, "memory"), "cgroup", "memory"), cgroup: "4:memory:/a\n" })).toMatchObject({
    kind: "none",
    reason: expect.stringContaining("v1"),
  });
  expect(findPlace({ mountinfo: mount(at, "cgroup2", "x"), cgroup: "0::/\n" })).toMatchObject({
    kind: "none",
    reason: expect.stringContaining("v2"),
  });
  expect(findPlace({ mountinfo: "", cgroup: "" })).toMatchObject({ kind: "none", reason: "no control groups are mounted" });
});

test("T-28 a group is made with its limits, tells what the kernel struck down, and a limit that is not taken is no group", () => {
  const at = tree({ "g/x": "" });
  const group = makeCgroup({ kind: "v2", folder: at }, { memoryBytes: 1000, processes: 7 });
  const [join2 = ""] = group.joins;
  const folder = join(join2, "..");
  expect([readFileSync(join(folder, "memory.max"), "utf8"), readFileSync(join(folder, "pids.max"), "utf8")]).toEqual(["1000", "7"]);
  expect(group.strikes()).toEqual({ memory: 0, processes: 0 });
  writeFileSync(join(folder, "memory.events"), "low 0\noom 2\noom_kill 1\n");
  writeFileSync(join(folder, "pids.events"), "max 3\n");
  expect(group.strikes()).toEqual({ memory: 1, processes: 3 });
  expect(() => makeCgroup({ kind: "v1", memory: join(at, "nowhere"), pids: at }, { memoryBytes: 1, processes: 1 })).toThrow();
});

test("T-28 groups of hosts that are gone are removed at the next look, those of living ones are not", () => {
  const at = tree({ "cgroup.subtree_control": "memory pids" });
  const [dead, living] = [join(at, "orgate-4194305-1"), join(at, `orgate-${process.pid}-999`)];
  for (const folder of [dead, living]) mkdirSync(folder);
  findPlace({ mountinfo: mount(at, "cgroup2", "x"), cgroup: "0::/\n" });
  expect([existsSync(dead), existsSync(living)]).toEqual([false, true]);
});
