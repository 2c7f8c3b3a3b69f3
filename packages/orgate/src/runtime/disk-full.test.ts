// The journal lies on a file system of two megabytes of its own, made by bubblewrap, which is then filled up.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const PROBE = `
  import { closeSync, openSync, writeSync } from "node:fs";
  const { openProjectStore } = await import(process.argv[1]);
  const place = await openProjectStore({ directory: "/small/.orgate", thread: "main", powerCut: "lose-last-moments" });
  const ready = () => place.store.checkWritable().then(() => "ready", ({ fault }) => fault.kind);
  const before = await ready();
  const fd = openSync("/small/filling", "w");
  try { for (;;) writeSync(fd, Buffer.alloc(4096)); } catch (error) { if (error.code !== "ENOSPC") throw error; }
  console.log(JSON.stringify([before, await ready()]));
`;

test("W-23 a server whose disk is full is not ready", { tags: ["sandbox"] }, () => {
  const program = ["--dev-bind", "/", "/", "--size", "4194304", "--tmpfs", "/small", process.execPath, "--input-type=module", "-e", PROBE];
  const ran = spawnSync("bwrap", [...program, at("./ports/project-store.ts")], { encoding: "utf8" });
  expect([ran.stderr, JSON.parse(ran.stdout)]).toEqual(["", ["ready", "journal-unwritable"]]);
});

const SERVER = `
  import { closeSync, openSync, writeSync } from "node:fs";
  const { serving } = await import(process.argv[1]);
  const lines = [];
  const at = await serving({ folder: "/small", serve: { log: (level, event, fields) => lines.push({ level, event, ...fields }) } });
  const ready = async () => (await at.get("/readyz")).status;
  const before = await ready();
  const fd = openSync("/small/filling", "w");
  for (let size = 65536; size >= 1; size >>= 1) try { for (;;) writeSync(fd, Buffer.alloc(size)); } catch (error) { if (error.code !== "ENOSPC") throw error; }
  const told = [];
  for (const [path, body] of [["halt", { scope: "all", reason: "x" }], ["agents/clerk/execute", { input: "look" }]]) {
    const response = await at.post("/api/v1/" + path, body);
    const { kind, detail, hint } = await response.json();
    told.push([response.status, kind, detail, hint]);
  }
  const logged = lines.filter(({ event }) => event === "request.failed").map(({ level, kind }) => [level, kind]);
  console.log(JSON.stringify({ before, told, logged, after: await ready() }));
  process.exit(0);
`;

test("W-23 on a full disk a request is refused with 507 and what to do, it is logged, and `/readyz` fails at once", {
  tags: ["sandbox"],
}, () => {
  const program = [
    "--dev-bind",
    "/",
    "/",
    "--size",
    "16777216",
    "--tmpfs",
    "/small",
    process.execPath,
    "--input-type=module",
    "-e",
    SERVER,
  ];
  const ran = spawnSync("bwrap", [...program, at("../server/fixtures/serving.ts")], { encoding: "utf8" });
  expect(ran.stderr).toBe("");
  const full = [507, "disk-full", expect.stringContaining("disk is full"), expect.stringContaining("make room")];
  expect(JSON.parse(ran.stdout)).toEqual({
    before: 200,
    told: [full, full],
    logged: [
      ["error", "disk-full"],
      ["error", "disk-full"],
    ],
    after: 503,
  });
});
