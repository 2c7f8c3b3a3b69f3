// @module-tag sandbox
// @module-tag curl
// @module-tag perl
// @module-tag python
/**
 * Ways out, each tried twice: without a sandbox, where it must succeed (else it would prove nothing), and inside, where it must not.
 * Whatever is tried is harmless where it succeeds: the twins succeed, and one day a sandbox may be broken.
 * T-27 no way out: network, files outside, other processes, their memory, signals, links, more processes than there may be.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProcessInvocation } from "../contract/running.ts";
import { isDone, MACHINES, MIB, outputOf, program, quietly, shell, temporaryFolder } from "./fixtures/programs.ts";
import { sandbox } from "./sandbox.ts";

const outside = temporaryFolder("outside");
const work = temporaryFolder("work");
const abstract = `\0orgate-escape-${process.pid}`;
const http = createServer((_, response) => response.end("reached the host"));
const local = createTcpServer((socket) => socket.end("reached the host"));
const named = createTcpServer((socket) => socket.end("reached the host"));
const udp = createSocket("udp4", (_, from) => udp.send("reached the host", from.port, from.address));
let bystander: ChildProcess;

beforeAll(async () => {
  for (const { path } of [outside, work]) chmodSync(path, 0o777);
  writeFileSync(join(outside.path, "canary"), "a secret of the host");
  writeFileSync(join(outside.path, "target"), "untouched", { mode: 0o666 });
  mkdirSync(join(work.path, "sub"), { mode: 0o777 });
  symlinkSync(join(outside.path, "canary"), join(work.path, "link"));
  symlinkSync(outside.path, join(work.path, "folder"));
  symlinkSync(join(outside.path, "target"), join(work.path, "target"));
  await Promise.all([
    new Promise<void>((done) => http.listen(0, "127.0.0.1", done)),
    new Promise<void>((done) => local.listen(abstract, done)),
    new Promise<void>((done) => named.listen(join(outside.path, "socket"), done)),
    new Promise<void>((done) => udp.bind(0, "127.0.0.1", done)),
  ]);
  bystander = spawn("sleep", ["1000"], { env: { CANARY: "a secret of the bystander" }, detached: true, stdio: "ignore" });
});
afterAll(() => {
  bystander.kill("SIGKILL");
  for (const server of [http, local, named]) server.close();
  udp.close();
  outside.remove();
  work.remove();
});

const port = (): number => (http.address() as AddressInfo).port;
const node = (script: string): ProcessInvocation =>
  program([process.execPath, "-e", script], {
    paths: [
      { path: process.execPath, access: "read" },
      { path: work.path, access: "write" },
    ],
  });
const sh = (script: string): ProcessInvocation => shell(script, { cwd: work.path, paths: [{ path: work.path, access: "write" }] });
const perl = (script: string): ProcessInvocation => program(["perl", "-e", script]);

/** Exits with 0 only when it got out. */
type Attempt = Readonly<{ name: string; try(): ProcessInvocation }>;
const hears = (connect: string): string =>
  `const s = require("net").connect(${connect}); s.on("data", (d) => process.exit(String(d).includes("reached") ? 0 : 1)); s.on("error", () => process.exit(1)); s.write("GET / HTTP/1.0\\r\\n\\r\\n")`;

const ATTEMPTS: readonly Attempt[] = [
  { name: "a connection to the host", try: () => node(hears(`${port()}, "127.0.0.1"`)) },
  {
    name: "a connection by a program that asks no proxy",
    try: () => sh(`curl -sS --noproxy '*' --max-time 5 http://127.0.0.1:${port()}/ | grep reached`),
  },
  { name: "an abstract socket of the host", try: () => node(hears(JSON.stringify(abstract))) },
  { name: "a socket in the file system of the host", try: () => node(hears(JSON.stringify(join(outside.path, "socket")))) },
  {
    name: "a datagram to the host",
    try: () =>
      node(
        `const s = require("dgram").createSocket("udp4", () => process.exit(0)); s.on("error", () => process.exit(1)); s.send("x", ${udp.address().port}, "127.0.0.1", (e) => e && process.exit(1)); setTimeout(() => process.exit(1), 2000)`,
      ),
  },
  { name: "a file outside, read", try: () => sh(`cat ${outside.path}/canary`) },
  { name: "a file outside, written", try: () => sh(`echo x >> ${outside.path}/target`) },
  { name: "a file outside, by the parent of a folder", try: () => sh(`cd sub && cat ../../${outside.path.split("/").at(-1)}/canary`) },
  { name: "a file outside, by a link that was there", try: () => sh("cat link") },
  { name: "a file outside, by a folder that is a link", try: () => sh("cat folder/canary") },
  { name: "a file outside, written by a link that was there", try: () => sh("echo x >> target") },
  { name: "a file outside, by a link of its own", try: () => sh(`ln -sfn ${outside.path} sub/own && cat sub/own/canary`) },
  {
    name: "a file outside, by the first process",
    try: () => sh(`cat /proc/1/root${outside.path}/canary || cat /proc/$$/root${outside.path}/canary`),
  },
  {
    name: "a file outside, by the parent's folder",
    try: () => sh(`cat /proc/$PPID/cwd${outside.path}/canary || cat ${outside.path}/canary`),
  },
  { name: "the list of the host's processes", try: () => sh(`ls /proc/${bystander.pid}/status`) },
  { name: "the environment of a process of the host", try: () => sh(`tr '\\0' '\\n' < /proc/${bystander.pid}/environ | grep CANARY`) },
  {
    name: "the memory of a process of the host",
    try: () => perl(`open(my $f, "<", "/proc/${bystander.pid}/maps") or exit 1; my @l = <$f>; exit(@l > 0 ? 0 : 1)`),
  },
  { name: "a signal to a process of the host", try: () => sh(`kill -CONT ${bystander.pid}`) },
  { name: "a signal to a group of the host", try: () => sh(`kill -CONT -${bystander.pid}`) },
  { name: "a signal to the parent, outside of itself", try: () => sh(`kill -0 ${process.pid}`) },
  {
    name: "ptrace of a child",
    try: () =>
      perl(
        `my $n = (qx(uname -m) =~ /aarch64/) ? 117 : 101; my $c = fork(); if (!$c) { sleep 20; exit } my $r = syscall($n, 16, $c, 0, 0); kill 9, $c; exit($r == 0 ? 0 : 1)`,
      ),
  },
  {
    name: "the memory of another process, read by the kernel",
    try: () =>
      perl(
        `my $n = (qx(uname -m) =~ /aarch64/) ? 270 : 310; my $c = fork(); if (!$c) { sleep 20; exit } my $have = "x" x 8; my $from = "canary!!"; my $l = pack("pQ", $have, 8); my $r = pack("pQ", $from, 8); my $got = syscall($n, $c, $l, 1, $r, 1, 0); kill 9, $c; exit($got == 8 ? 0 : 1)`,
      ),
  },
  { name: "a user namespace of its own", try: () => program(["unshare", "--user", "--map-root-user", "true"]) },
  {
    name: "a mount of its own",
    try: () => program(["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]),
  },
  {
    name: "a namespace by unshare",
    try: () => perl(`my $n = (qx(uname -m) =~ /aarch64/) ? 97 : 272; exit(syscall($n, 0x10000000) == 0 ? 0 : 1)`),
  },
  { name: "200 processes at once", try: () => shell("i=0; while [ $i -lt 200 ]; do sleep 20 & i=$((i+1)); done; exit 0") },
  {
    name: "twice the memory",
    try: () => program(["dd", "if=/dev/zero", "of=/dev/null", "bs=192M", "count=1"], { limits: { memoryBytes: 96 * MIB } }),
  },
  {
    name: "twice the memory, shared",
    try: () =>
      program(
        [
          "perl",
          "-e",
          `my $n = (qx(uname -m) =~ /aarch64/) ? 279 : 319; my $fd = syscall($n, my $name = "m", 0); exit 1 if $fd < 0; open(my $f, ">&=", $fd) or exit 1; binmode $f; my $x = "x" x 1048576; for (1..192) { syswrite($f, $x) == 1048576 or exit 1 } exit 0`,
        ],
        { limits: { memoryBytes: 96 * MIB, fileBytes: 1024 * MIB } },
      ),
  },
  {
    name: "more files in the temporary folder than there is room",
    try: () =>
      program(["sh", "-c", `cd "$PLACE" && dd if=/dev/zero of=big bs=1M count=96 2>/dev/null`], {
        limits: { memoryBytes: 96 * MIB },
        env: { PLACE: "/tmp" },
      }),
  },
];

describe.each(MACHINES)("%s", (_, machine) => {
  const box = sandbox({ machine });

  test.each(ATTEMPTS)("T-27 $name: out without a sandbox, and not inside", async (attempt) => {
    const asked = attempt.try();
    const place = temporaryFolder("place");
    const twin = await box.run(
      { ...asked, tier: "none", env: { ...asked.env, ...(asked.env.PLACE === undefined ? {} : { PLACE: place.path }) } },
      quietly(),
    );
    place.remove();
    expect(`${twin.kind} ${isDone(twin)} ${outputOf(twin)}`).toMatch(/^exited true/);
    const inside = await box.run(asked, quietly());
    expect(inside.kind).toMatch(/^(exited|stopped)$/); // it was tried, not refused beforehand
    expect(isDone(inside)).toBe(false);
  });

  test("T-27 a fork bomb that doubles nine times is stopped early, and leaves nobody", async () => {
    const bomb = 'b() { [ "$1" -lt 9 ] && { b $(($1 + 1)) & b $(($1 + 1)) & wait; }; echo born; sleep 0.1; }; b 0; wait';
    const born = async (tier: "none" | "process"): Promise<number> =>
      outputOf(await box.run(program(["bash", "-c", bomb], { tier, limits: { processes: 50 } }), quietly())).split("born\n").length - 1;
    expect(await born("none")).toBe(2 ** 10 - 1);
    expect(await born("process")).toBeLessThan(500);
    expect(await box.run(program(["true"]), quietly())).toMatchObject({ kind: "exited", code: 0 });
  });

  // never a signal that could do harm: this suite must be harmless on a machine whose sandbox is broken
  test("T-27 a signal to everybody wakes nobody outside", async () => {
    const state = (): string | undefined => /^State:\s+(\w)/m.exec(readFileSync(`/proc/${bystander.pid}/status`, "utf8"))?.[1];
    bystander.kill("SIGSTOP");
    await expect.poll(state).toBe("T");
    await box.run(shell("kill -CONT -1; kill -CONT 1; true"), quietly());
    expect(state()).toBe("T");
    await box.run(shell(`kill -CONT ${bystander.pid}`, { tier: "none" }), quietly());
    await expect.poll(state).toBe("S");
  });

  test("T-27 what was tried changed nothing outside but what the twins did", async () => {
    rmSync(join(outside.path, "target"));
    writeFileSync(join(outside.path, "target"), "untouched", { mode: 0o666 });
    chmodSync(join(outside.path, "target"), 0o666);
    await box.run(sh(`echo x >> ${outside.path}/target; echo x >> target; rm -f folder/target`), quietly());
    expect(readFileSync(join(outside.path, "target"), "utf8")).toBe("untouched");
  });
});
