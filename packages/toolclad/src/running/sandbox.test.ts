// @module-tag sandbox
// @module-tag python
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { InvocationResult } from "../contract/running.ts";
import { isDone, type LIMITS, MACHINES, MIB, outputOf, program, quietly, shell, temporaryFolder } from "./fixtures/programs.ts";
import { hostRunning } from "./running.ts";
import { sandbox } from "./sandbox.ts";
import { thisMachine } from "./sandbox-readiness.ts";

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});
function folder(name = "sandbox"): string {
  const made = temporaryFolder(name);
  closing.push(made.remove);
  return made.path;
}

test("T-28 a sandbox works on the machine that tests it: bubblewrap is there, and every limit was shown in force", async () => {
  const standing = await sandbox().standing();
  expect(standing).toMatchObject({ kind: "usable", limits: ["memoryBytes", "processes", "fileBytes", "openFiles", "timeMs"] });
});

describe.each(MACHINES)("%s", (_, machine) => {
  const box = sandbox({ machine });
  const run = (invocation: Parameters<typeof box.run>[0]): Promise<InvocationResult> => box.run(invocation, quietly());

  test("T-17 argv reaches the program item by item, with nothing between that reads it", async () => {
    const items = ["a b", "$(id)", "`id`", "", ";", "--", "*", 'q"q', "n\nl", "\\"];
    const ran = await run(program(["printf", "[%s]", ...items]));
    expect(ran).toMatchObject({ kind: "exited", code: 0, stdout: items.map((item) => `[${item}]`).join("") });
  });

  test("T-17 what it is given on stdin and what it exits with is told", async () => {
    expect(await run(program(["cat"], { stdin: "héllo" }))).toMatchObject({ kind: "exited", code: 0, stdout: "héllo" });
    expect(await run(shell("echo out; echo err >&2; exit 7"))).toMatchObject({ kind: "exited", code: 7, stdout: "out\n", stderr: "err\n" });
  });

  test("T-27 no user, capability, variable or open file of ours, and a system that cannot be written", async () => {
    const variables = { TOKEN: "s3cret" };
    const told = outputOf(
      await run(
        shell("id -u; grep -E '^(Cap(Eff|Prm|Bnd)|NoNewPrivs|Seccomp):' /proc/self/status; env | sort; ls /proc/self/fd", {
          env: variables,
        }),
      ),
    );
    expect(told).toMatch(/^1000\n/);
    expect(told).toMatch(/CapPrm:\t0+\nCapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2\n/);
    const names = told.split("\n").flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? []);
    expect(names).toEqual(["HOME", "LANG", "PATH", "PWD", "TMPDIR", "TOKEN", "USER"]);
    for (const place of ["/x", "/usr/x", "/etc/x", "/dev/x", "/proc/x", "/run/x"])
      expect(isDone(await run(program(["touch", place])))).toBe(false);
    expect(isDone(await run(program(["touch", "/tmp/x"])))).toBe(true);
  });

  test("T-27 it sees its own processes, its own temporary folder and what is granted, as it is granted", async () => {
    const [work, other] = [folder(), folder()];
    chmodSync(work, 0o777);
    writeFileSync(join(work, "in"), "granted");
    const paths = [{ path: work, access: "write" as const }];
    const ran = await run(shell("cat in; echo made > out; ls /tmp; ls /proc | grep -c '^[0-9]'", { paths, cwd: work }));
    expect(outputOf(ran)).toMatch(/^granted(orgate-sandbox-\w+\n)?[1-6]\n$/);
    expect(readFileSync(join(work, "out"), "utf8")).toBe("made\n");
    expect(isDone(await run(program(["ls", other], { paths })))).toBe(false);
    const reading = { paths: [{ path: work, access: "read" as const }], cwd: work };
    expect(await run(shell("cat in && ! echo x > in", reading))).toMatchObject({ code: 0 });
  });

  test("T-28 twice the limit is stopped inside, and half of it is not", async () => {
    const using = async (limit: Partial<typeof LIMITS>, argv: readonly string[]): Promise<boolean> =>
      isDone(await run(program(argv, { limits: limit })));
    const children = (n: number) => ["sh", "-c", `i=0; while [ $i -lt ${n} ]; do sleep 20 & i=$((i+1)); done; exit 0`];
    const memory = (mib: number) => ["dd", "if=/dev/zero", "of=/dev/null", `bs=${mib}M`, "count=1"];
    const file = (mib: number) => ["dd", "if=/dev/zero", "of=/tmp/f", "bs=1M", `count=${mib}`];
    expect(await using({ memoryBytes: 64 * MIB }, memory(128))).toBe(false);
    expect(await using({ memoryBytes: 64 * MIB }, memory(32))).toBe(true);
    expect(await using({ processes: 20 }, children(40))).toBe(false);
    expect(await using({ processes: 20 }, children(10))).toBe(true);
    expect(await using({ fileBytes: 4 * MIB }, file(8))).toBe(false);
    expect(await using({ fileBytes: 4 * MIB }, file(2))).toBe(true);
  });

  test("T-28 memory counts in sum: several processes that each stay below the limit are stopped together", async () => {
    const each = "head -c 48m /dev/zero | tail -c 48m | sleep 20";
    const ran = await run(shell(`for i in 1 2 3 4; do (${each}) & done; wait`, { limits: { memoryBytes: 96 * MIB } }));
    expect(ran).toMatchObject({ kind: "stopped", by: "memory" });
  });

  test("T-23 output is passed on as it comes, cut at its limit, and a flood is ended", async () => {
    const pieces: string[] = [];
    const limits = { limits: { outputBytes: 1000 } };
    const ran = await box.run(shell("head -c 3000 /dev/zero | tr '\\0' a; echo err >&2", limits), {
      ...quietly(),
      onOutput: (piece) => pieces.push(piece),
    });
    expect(ran).toMatchObject({ kind: "exited", code: 0, truncated: true });
    expect(outputOf(ran)).toHaveLength(1000);
    expect(pieces.join("")).toHaveLength(1000);
    expect(await run(shell("yes", limits))).toMatchObject({ kind: "stopped", by: "output" });
  });

  test("T-28 time out, abort and end leave nothing of it, not even what left its group and its parents", async () => {
    const mark = `${Math.floor(Math.random() * 1e9) + 1e9}`;
    const daemon = `(setsid sh -c 'trap "" TERM HUP; sleep ${mark}' >/dev/null 2>&1 &) ; `;
    expect(await run(shell(`${daemon} exit 0`))).toMatchObject({ kind: "exited", code: 0 });
    expect(running(mark)).toEqual([]);
    expect(await run(shell(`${daemon} sleep ${mark}`, { limits: { timeMs: 300 } }))).toMatchObject({ kind: "stopped", by: "time" });
    expect(running(mark)).toEqual([]);
    const stop = new AbortController();
    const aborting = box.run(shell(`${daemon} echo there; sleep ${mark}`), { signal: stop.signal, onOutput: () => stop.abort() });
    expect(await aborting).toMatchObject({ kind: "stopped", by: "signal", stdout: "there\n" });
    expect(running(mark)).toEqual([]);
  });

  test("T-28 told to stop at any moment of its start, nothing is left", async () => {
    for (const waits of [0, 1, 2, 3, 4, 6, 9]) {
      const stop = new AbortController();
      const going = box.run(program(["sleep", "30"]), quietly(stop.signal));
      if (waits > 0) await new Promise((done) => setTimeout(done, waits));
      stop.abort();
      expect((await going).kind).toBe("stopped");
    }
    expect(childrenOf(process.pid, "bwrap")).toEqual([]);
  });

  test("T-30 a program with a scope reaches its hosts through the gateway, and nothing past it", async () => {
    const server = createServer((request, response) => response.end(`got ${request.method} ${request.url}`));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const at = `http://127.0.0.1:${port}/p?q`;
    const network = [`127.0.0.1:${port}`];
    expect(outputOf(await run(program(["curl", "-sS", at], { network })))).toBe("got GET /p?q");
    expect(outputOf(await run(program(["curl", "-sS", "--proxytunnel", "-d", "x", at], { network })))).toBe("got POST /p?q");
    expect(outputOf(await run(program(["curl", "-sS", at], { network: ["example.com", `127.0.0.1:${port + 1}`] })))).toContain(
      "not in scope",
    );
    expect(isDone(await run(program(["curl", "-sS", "--noproxy", "*", at], { network })))).toBe(false);
    expect(isDone(await run(program(["curl", "-sS", at])))).toBe(false);
    expect(await run(shell("exit 9", { network }))).toMatchObject({ kind: "exited", code: 9 });
  });
});

/** Processes with this word on their command line. */
function running(word: string): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8")
        .split("\0")
        .some((item) => item === word);
    } catch {
      return false;
    }
  });
}
function childrenOf(pid: number, name: string): readonly string[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
  return children.filter((child) => {
    try {
      return readFileSync(`/proc/${child}/comm`, "utf8").trim() === name;
    } catch {
      return false;
    }
  });
}

test("T-27 a path that is exchanged between the look and the mount leads nowhere", async () => {
  const [work, secret] = [folder(), folder()];
  writeFileSync(join(secret, "canary"), "secret");
  for (const place of ["sub", "sub/deep"]) {
    mkdirSync(join(work, "sub/deep"), { recursive: true });
    const path = join(work, place);
    // the look itself is where the exchange happens: nobody could be quicker
    const judge = (real: string) => {
      rmSync(join(work, "sub"), { recursive: true });
      mkdirSync(join(secret, "deep"), { recursive: true });
      symlinkSync(secret, join(work, "sub"));
      return { kind: "free" as const, real };
    };
    const box = sandbox({ protection: { judge, places: () => [], alias: () => null, hidden: [] } });
    const ran = await box.run(shell("cat canary ../canary; echo x > made", { cwd: path, paths: [{ path, access: "write" }] }), quietly());
    expect(ran).toMatchObject({ kind: "refused", reason: expect.stringContaining("exchanged meanwhile") });
    rmSync(join(work, "sub"));
  }
  expect(readdirSync(secret).sort()).toEqual(["canary", "deep"]);
});

test("T-29 nothing falls back: another system, a machine without bubblewrap, an old one, and a limit that nobody holds refuse with what to do", async () => {
  const on = async (machine: Partial<ReturnType<typeof thisMachine>>) =>
    sandbox({ machine: { ...thisMachine(), ...machine } }).run(program(["true"]), quietly());
  expect(await on({ platform: "darwin" })).toMatchObject({
    kind: "refused",
    reason: "there is no sandbox for programs on darwin",
    hint: expect.stringContaining("Linux"),
  });
  expect(await on({ platform: "win32" })).toMatchObject({ kind: "refused" });
  expect(await on({ arch: "riscv64" })).toMatchObject({ kind: "refused" });
  expect(await on({ path: folder() })).toMatchObject({
    kind: "refused",
    reason: "bubblewrap is not installed",
    hint: expect.stringContaining("apt install bubblewrap"),
  });
  const old = folder();
  writeFileSync(join(old, "bwrap"), "#!/bin/sh\necho '    --bind SRC DEST'\n", { mode: 0o755 });
  expect(await on({ path: `${old}:/usr/bin` })).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("too old"),
    hint: expect.stringContaining("0.10"),
  });
  // one that does as it is told, but holds nothing
  const hollow = folder();
  chmodSync(hollow, 0o755);
  const script = `#!/bin/sh\n[ "$1" = --help ] && exec /usr/bin/bwrap --help\nwhile [ "$1" != -- ]; do shift; done; shift\necho "{\\"child-pid\\": $$}{\\"exit-code\\": 0}" >&4\nwhile [ "$1" != -- ]; do shift; done; shift\nexec "$@"\n`;
  writeFileSync(join(hollow, "bwrap"), script, { mode: 0o755 });
  expect(await on({ path: `${hollow}:/usr/bin`, withoutCgroups: true })).toMatchObject({
    kind: "refused",
    reason: expect.stringContaining("is not in force"),
    hint: expect.stringContaining("control groups"),
  });
});

test.each(["docker", "gvisor", "firecracker", "e2b", "vm", ""])("T-29 tier `%s` is refused with what to do instead", async (tier) => {
  const asked = { ...program(["true"]), tier: tier as "none" };
  expect(await sandbox().run(asked, quietly())).toMatchObject({ kind: "refused", hint: expect.stringContaining("`process`") });
});

test("T-29 tier `none` runs without a sandbox, with its time and its output limited and its group ended", async () => {
  const box = sandbox();
  const mark = `${Math.floor(Math.random() * 1e9) + 1e9}`;
  const bare = { tier: "none" as const };
  expect(await box.run(shell("echo $HOME", { ...bare, env: { HOME: "/x" } }), quietly())).toMatchObject({ kind: "exited", stdout: "/x\n" });
  expect(await box.run(shell(`sleep ${mark} & sleep ${mark}`, { ...bare, limits: { timeMs: 200 } }), quietly())).toMatchObject({
    kind: "stopped",
    by: "time",
  });
  expect(running(mark)).toEqual([]);
  expect(await box.run(program(["/nowhere/program"], bare), quietly())).toMatchObject({ kind: "refused" });
});

test("T-27 what cannot be given as it is asked for is refused before anything starts", async () => {
  const box = sandbox();
  const gone = join(folder(), "gone");
  for (const asked of [
    program(["no-such-program"]),
    program([]),
    program([process.execPath, "-v"]),
    program(["true"], { cwd: "/root" }),
    program(["true"], { cwd: folder() }),
    program(["true"], { paths: [{ path: gone, access: "read" }] }),
    program(["true"], { paths: [{ path: "relative", access: "read" }] }),
    program(["true"], { paths: [{ path: "/", access: "read" }] }),
    program(["true"], { paths: [{ path: "/proc", access: "read" }] }),
    program(["true", "a\0b"]),
    program(["true"], { network: ["not a host"] }),
  ])
    expect(await box.run(asked, quietly())).toMatchObject({ kind: "refused" });
  const node = { paths: [{ path: process.execPath, access: "read" as const }] };
  expect(await box.run(program([process.execPath, "-p", "1+1"], node), quietly())).toMatchObject({ kind: "exited", stdout: "2\n" });
});

/** Another process as the host, for what only another process can show. */
const FIXTURE = join(import.meta.dirname, "fixtures/run-programs.ts");

test("T-28 when the host is killed, its programs are gone with it", async () => {
  const mark = `${Math.floor(Math.random() * 1e9) + 1e9}`;
  const asked = JSON.stringify([shell(`(setsid sleep ${mark} &); echo there; sleep ${mark}`)]);
  const host = spawn(process.execPath, [FIXTURE, asked, "live"], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((done) => host.stdout.once("data", done));
  await expect.poll(() => running(mark), { timeout: 10_000 }).toHaveLength(2);
  host.kill("SIGKILL");
  await expect.poll(() => running(mark), { timeout: 10_000 }).toEqual([]);
});

test("T-27 what the host itself was handed is not handed on", () => {
  const secret = folder();
  writeFileSync(join(secret, "canary"), "through the open folder");
  const attempt = "cat /proc/self/fd/7/canary";
  const asked = JSON.stringify([shell(attempt)]);
  // the shell opens the folder, and its children inherit it: without a sandbox it is read
  const script = `exec 7<'${secret}'; ${attempt}; '${process.execPath}' '${FIXTURE}' "$1"`;
  const told = execFileSync("sh", ["-c", script, "sh", asked], { encoding: "utf8" });
  expect(told).toMatch(/^through the open folder\{/);
  expect(told.match(/through the open folder/g)).toHaveLength(1);
});

test("T-28 an ordinary user has the same sandbox, with limits that hold", () => {
  const place = folder();
  chmodSync(place, 0o755);
  copyFileSync(process.execPath, join(place, "node"));
  cpSync(import.meta.dirname, join(place, "src/running"), { recursive: true });
  const core = join(import.meta.dirname, "../../../core");
  for (const part of ["package.json", "src/vocab"]) cpSync(join(core, part), join(place, "core", part), { recursive: true });
  mkdirSync(join(place, "node_modules/@orgate"), { recursive: true });
  symlinkSync("../../core", join(place, "node_modules/@orgate/core"));
  writeFileSync(join(place, "package.json"), '{ "type": "module" }');
  const asked = [
    shell("id -u; echo x > /tmp/x && cat /tmp/x"),
    program(["dd", "if=/dev/zero", "of=/dev/null", "bs=128M", "count=1"], { limits: { memoryBytes: 64 * MIB } }),
    shell("i=0; while [ $i -lt 40 ]; do sleep 20 & i=$((i+1)); done", { limits: { processes: 20 } }),
    shell(`curl -sS --max-time 5 http://127.0.0.1:9/`),
  ];
  const args = [join(place, "src/running/fixtures/run-programs.ts"), JSON.stringify(asked)];
  const asNobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "--", join(place, "node"), ...args];
  const env = { PATH: "/usr/bin:/bin" };
  const isRoot = process.getuid?.() === 0;
  const told = JSON.parse(
    execFileSync(isRoot ? "setpriv" : join(place, "node"), isRoot ? asNobody : args, { encoding: "utf8", env, cwd: place }),
  );
  expect(told.uid).not.toBe(0);
  expect(told.all.map((ran: InvocationResult) => isDone(ran))).toEqual([true, false, false, false]);
  expect(told.all[0]).toMatchObject({ stdout: "1000\nx\n" });
});

test("T-29 hostRunning sends each kind to its runner, and refuses what it has none for", async () => {
  const running = hostRunning();
  expect(await running.run(program(["true"]), quietly())).toMatchObject({ kind: "exited", code: 0 });
  const http = {
    kind: "http",
    method: "GET",
    url: "http://127.0.0.1/",
    headers: {},
    body: null,
    allow: ["*"],
    timeMs: 1000,
    outputBytes: 10,
  } as const;
  expect(await running.run(http, quietly())).toMatchObject({ kind: "refused" });
  expect(await running.run({ kind: "mcp", server: "s", tool: "t", args: {}, timeMs: 1, outputBytes: 1 }, quietly())).toMatchObject({
    kind: "refused",
  });
});
