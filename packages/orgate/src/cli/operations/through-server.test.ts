import { chmodSync, mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { type OperationName, wireProblem } from "@orgate/protocol";
import { plain } from "@orgate/shell/terminal";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { report } from "../../main.ts";
import { listen } from "../../server/http/listen.ts";
import { type Desk, makeDesk, type Started, until } from "../commands/fixtures/desk.ts";
import { fromLocalError, toOperationError } from "./input.ts";
import { isThisMachine } from "./through-server.ts";

const KEY = "ogk_0123456789abcdef_secret";
type Failed = Readonly<{ code: number | null; kind: string; message: string; hint: string }>;

function failureOf({ code, stderr }: Readonly<{ code: number | null; stderr: string }>): Failed {
  const { error } = JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as { error: Omit<Failed, "code"> };
  return { code, ...error };
}

describe("a command fails alike in this process and through the project's server", () => {
  let desk: Desk;
  let server: Started;
  let remote: Readonly<Record<string, string>>;
  beforeAll(async () => {
    desk = makeDesk();
    await desk.orgate("keys", "create", "ana");
    server = desk.start(["up", "--port", "0", "--json"]);
    await until(() => (server.stdout().includes("\n") ? server.stdout() : null));
    const { token } = (await desk.json("keys", "create", "ana", "--api")) as { token: string };
    remote = { ORGATE_API_KEY: token, ORGATE_HOME: desk.root };
  }, 60_000);
  afterAll(async () => {
    server.kill("SIGTERM");
    await server.ended;
    desk.remove();
  });

  const ADD = ["--agent", "desk", "--cron", "0 3 * * *"];
  test.each([
    [["call", "agentStatus", "--arg", "agent=none"], 1, "agent-missing", "there is no agent `none`"],
    [["call", "execute", "--input", '{"agent":"none","input":"x"}'], 1, "agent-missing", "there is no agent `none`"],
    [["call", "session", "--arg", "session=s_nothing00000"], 1, "session-unknown", "there is no session `s_nothing00000`"],
    [["call", "schedule", "--arg", "schedule=none"], 2, "usage", "there is no schedule `none`"],
    [["schedules", "pause", "none", "--reason", "x"], 2, "usage", "there is no schedule `none`"],
    [["schedules", "add", "bad name", ...ADD], 2, "usage", "SCHEDULE is `bad name`: cannot name a schedule"],
    [["schedules", "add", "n", ...ADD, "--jitter", "xx"], 2, "usage", "--jitter: must be a time such as 30s, 5m, 8h or 2d"],
    [["schedules", "add", "n", ...ADD, "--key", "bad key"], 2, "usage", "--key is `bad key`"],
  ] as const)("%j", async (args, code, kind, message) => {
    const local = failureOf(await desk.orgate(...args, "--json", "--as", "ana"));
    const through = failureOf(await desk.within(remote, [...args, "--json"]));
    expect(local).toMatchObject({ code, kind, message: expect.stringContaining(message) });
    expect([through.code, through.kind, through.message]).toEqual([local.code, local.kind, local.message]);
  });
});

test("a full disk is the same failure in this process and at a server; other troubles of a server are no wrong usage", () => {
  const said: string[] = [];
  const screen = { aside: (text: string) => said.push(text), paintAside: plain } as unknown as Parameters<typeof report>[2];
  const failed = { name: "halt" as OperationName, fields: { params: {}, query: {}, body: undefined } };
  const kindOf = (error: unknown): readonly [number, string] => {
    const code = report(error, true, screen);
    return [code, (JSON.parse(said.at(-1) ?? "") as { error: { kind: string } }).error.kind];
  };
  expect(kindOf(toOperationError(wireProblem("disk-full", "the disk is full", ""), failed))).toEqual([1, "disk-full"]);
  expect(kindOf(fromLocalError(new Error("database or disk is full"), failed))).toEqual([1, "disk-full"]);
  for (const kind of ["too-many", "unavailable", "internal", "too-large"] as const)
    expect(kindOf(toOperationError(wireProblem(kind, "not now", ""), failed))).toEqual([1, kind]);
  for (const kind of ["bad-request", "not-found", "conflict", "idempotency-key-reused"] as const)
    expect(kindOf(toOperationError(wireProblem(kind, "wrong", ""), failed))).toEqual([2, "usage"]);
});

describe("the key in $ORGATE_API_KEY", () => {
  const heard: (string | undefined)[] = [];
  const other = createServer(({ headers }, response) => {
    heard.push(headers.authorization);
    response.end("{}");
  });
  let desk: Desk;
  let port = 0;
  beforeAll(async () => {
    desk = makeDesk();
    mkdirSync(join(desk.root, ".orgate"), { recursive: true });
    port = await listen(other, "0.0.0.0", 0);
    await desk.orgate("keys", "create", "ana");
  }, 60_000);
  afterAll(() => {
    other.close();
    desk.remove();
  });
  const name = (url: string, mode = 0o600): void => {
    desk.write(".orgate/server.json", JSON.stringify({ url, pid: process.pid }));
    chmodSync(join(desk.root, ".orgate/server.json"), mode);
  };
  const call = (key: string, ...args: readonly string[]) => desk.within({ ORGATE_API_KEY: key }, [...args, "--json"]);

  test("S-2 does not go to another machine because a file of the project names it", async () => {
    name(`http://0.0.0.0:${port}`);
    expect(failureOf(await call(KEY, "call", "whoami"))).toMatchObject({
      code: 2,
      kind: "usage",
      message: expect.stringContaining("is not this machine"),
    });
    expect(heard).toEqual([]);
  });

  test("does not go where a file sends it that others could have written; the command runs in this process", async () => {
    name(`http://127.0.0.1:${port}`, 0o622);
    const { code, stdout } = await call(KEY, "call", "whoami", "--as", "ana");
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { principal: { id: "ana" } }]);
    expect(heard).toEqual([]);
    name(`http://127.0.0.1:${port}`);
    await call(KEY, "call", "whoami");
    expect(heard).toEqual([`Bearer ${KEY}`]);
  });

  test("is never printed, whatever is wrong with it", async () => {
    name(`http://127.0.0.1:${port}`);
    const { code, stdout, stderr } = await call("ogk_secret\nsecret", "call", "whoami");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("$ORGATE_API_KEY");
    expect(stderr).not.toContain("secret");
  });

  test("a server that does not answer is unreachable, and a change says how to ask for its result", async () => {
    const gone = createServer();
    const free = await listen(gone, "127.0.0.1", 0);
    await new Promise((resolve) => gone.close(resolve));
    name(`http://127.0.0.1:${free}`);
    const read = failureOf(await call(KEY, "call", "whoami"));
    expect(read).toMatchObject({ code: 1, kind: "unreachable", message: expect.stringContaining(`127.0.0.1:${free}`) });
    expect(read.hint).not.toContain("--key");
    const change = failureOf(await call(KEY, "schedules", "pause", "none", "--reason", "x", "--key", "k-1"));
    expect(change).toMatchObject({ code: 1, kind: "unreachable", hint: expect.stringContaining("--key k-1") });
  });
});

test("a server on an address of this machine's own networks may have the key; another host may not", () => {
  const networks = { lo: [{ address: "127.0.0.1" }], eth0: [{ address: "192.0.2.7" }, { address: "2001:db8::7" }] };
  expect(
    ["127.0.0.1", "localhost", "192.0.2.7", "[2001:db8::7]", "192.0.2.8", "example.com"].map((host) => isThisMachine(host, networks)),
  ).toEqual([true, true, true, true, false, false]);
});
