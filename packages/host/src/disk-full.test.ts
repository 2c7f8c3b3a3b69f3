// The journal lies on a file system of two megabytes of its own, made by bubblewrap, which is then filled up.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const PROBE = `
  import { closeSync, openSync, writeSync } from "node:fs";
  const { openPlace } = await import(process.argv[1]);
  const place = await openPlace({ directory: "/small/.orgate", thread: "main", synchronous: "normal" });
  const ready = () => place.store.checkWritable().then(() => "ready", ({ fault }) => fault.kind);
  const before = await ready();
  const fd = openSync("/small/filling", "w");
  try { for (;;) writeSync(fd, Buffer.alloc(4096)); } catch (error) { if (error.code !== "ENOSPC") throw error; }
  console.log(JSON.stringify([before, await ready()]));
`;

test("W71 a server whose disk is full is not ready", { tags: ["sandbox"] }, () => {
  const program = ["--dev-bind", "/", "/", "--size", "4194304", "--tmpfs", "/small", process.execPath, "--input-type=module", "-e", PROBE];
  const ran = spawnSync("bwrap", [...program, at("./compose.ts")], { encoding: "utf8" });
  expect([ran.stderr, JSON.parse(ran.stdout)]).toEqual(["", ["ready", "journal-unwritable"]]);
});
