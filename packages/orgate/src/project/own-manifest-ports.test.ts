import type { Invocation, InvocationResult, InvocationRunner } from "@orgate/toolclad";
import { describe, expect, test } from "vitest";
import { type FindSecret, guardRunner, toSecretsPort } from "./own-manifest-ports.ts";

const hanging = (): Promise<never> => new Promise(() => {});
const OPTIONS = { signal: new AbortController().signal, onOutput: () => {} };
const HTTP: Invocation = { kind: "http", method: "GET", url: "http://x/", headers: {}, body: null, allow: [], timeMs: 5, outputBytes: 100 };

const PROGRAM: Invocation = {
  ...({ kind: "process", argv: ["true"], cwd: null, env: {}, stdin: null, network: null, paths: [], tier: "process" } as const),
  limits: { memoryBytes: 1, processes: 1, fileBytes: 1, openFiles: 1, timeMs: 5, outputBytes: 1 },
};
const MCP: Invocation = { kind: "mcp", server: "s", tool: "t", args: {}, timeMs: 5, outputBytes: 100 };
const EXITED: InvocationResult = { kind: "exited", code: 0, signal: null, stdout: "", stderr: "", truncated: false, durationMs: 1 };

/** None of them is the result of a request. */
const RESPONDED = { kind: "responded", status: 200, headers: {}, body: "ok", truncated: false, durationMs: 1 };
const NONSENSE = {
  "a status that is no number": { ...RESPONDED, status: Number.NaN },
  "a status that does not exist": { ...RESPONDED, status: 0 },
  "no headers": { ...RESPONDED, headers: null },
  "headers that are no texts": { ...RESPONDED, headers: { a: 1 } },
  "no duration": { ...RESPONDED, durationMs: undefined },
  "a duration that is no number": { ...RESPONDED, durationMs: Number.NaN },
  "the end of a program": EXITED,
  "the answer of a server": { kind: "answered", output: "fine", isError: false, truncated: false, durationMs: 1 },
  "a stop by something that does not exist": { kind: "stopped", by: "banana", detail: "d", stdout: "", stderr: "", durationMs: 1 },
};

describe("secrets of the program's own", () => {
  test("are found by name", async () => {
    expect(await toSecretsPort(async (name) => `value of ${name}`).take(["a", "b"])).toEqual(
      new Map([
        ["a", "value of a"],
        ["b", "value of b"],
      ]),
    );
  });

  test.each<[string, FindSecret, string]>([
    ["is not there", () => undefined, "there is no secret `a`"],
    ["is empty", () => "", "there is no secret `a`"],
    ["is no text", (() => 42) as unknown as FindSecret, "the secret `a` could not be read"],
    ["cannot be read", () => Promise.reject(new Error("hunter2 leaked")), "the secret `a` could not be read"],
    ["never comes", hanging, "the secret `a` could not be read"],
  ])("one that %s is a fault without its value", async (_, find, message) => {
    await expect(toSecretsPort(find, 10).take(["a"])).rejects.toThrow(new RegExp(`^${message}`));
  });
});

describe("a runner of the program's own", () => {
  const ran: InvocationResult = { kind: "responded", status: 200, headers: {}, body: "ok", truncated: false, durationMs: 1 };
  test("answers for itself", async () => {
    expect(await guardRunner({ run: async () => ran }).run(HTTP, OPTIONS)).toBe(ran);
  });

  test.each<[string, InvocationRunner["run"], string, string]>([
    ["throws", () => Promise.reject(new Error("down")), "connection", "the runner failed: down"],
    [
      "answers nonsense",
      (async () => ({ kind: "fine" })) as unknown as InvocationRunner["run"],
      "connection",
      "something else than a result",
    ],
    [
      "answers half a result",
      (async () => ({ kind: "exited" })) as unknown as InvocationRunner["run"],
      "connection",
      "something else than a result",
    ],
    [
      "answers half a stop",
      (async () => ({ kind: "stopped", by: "time", detail: "x" })) as unknown as InvocationRunner["run"],
      "connection",
      "something else than a result",
    ],
    ...Object.entries(NONSENSE).map(([name, given]): [string, InvocationRunner["run"], string, string] => {
      return [`answers ${name}`, (async () => given) as unknown as InvocationRunner["run"], "connection", "something else than a result"];
    }),
    ["never answers", hanging, "time", "did not answer within 10 ms"],
  ])("one that %s has an unknown outcome, not a success", async (_, run, by, detail) => {
    const result = await guardRunner({ run }, 5).run(HTTP, OPTIONS);
    expect(result).toMatchObject({ kind: "stopped", by, detail: expect.stringContaining(detail) });
  });

  test.each([
    { code: undefined, signal: null },
    { code: null, signal: null },
    { code: 0.5, signal: null },
    { code: 0, signal: "SIGTERM" },
  ])("a program that ended with %o has an unknown outcome", async (end) => {
    const exited = { ...EXITED, ...end } as InvocationResult;
    expect(await guardRunner({ run: async () => exited }).run(PROGRAM, OPTIONS)).toMatchObject({ kind: "stopped", by: "connection" });
  });

  const cycle: unknown[] = [];
  cycle.push(cycle);
  test.each([[undefined], [cycle], [10n]])("a server's answer %o that is no JSON has an unknown outcome", async (output) => {
    const answered = { kind: "answered", output, isError: false, truncated: false, durationMs: 1 } as InvocationResult;
    expect(await guardRunner({ run: async () => answered }).run(MCP, OPTIONS)).toMatchObject({ kind: "stopped", by: "connection" });
  });

  test.each<[string, Invocation, InvocationResult]>([
    ["a program that exits", PROGRAM, EXITED],
    ["a program that is killed", PROGRAM, { ...EXITED, code: null, signal: "SIGKILL" }],
    ["a server that answers", MCP, { kind: "answered", output: { a: [1] }, isError: false, truncated: false, durationMs: 0 }],
    ["a request that is refused", HTTP, { kind: "refused", reason: "no", hint: "" }],
    ["a request that is stopped", HTTP, { kind: "stopped", by: "output", detail: "d", stdout: "", stderr: "", durationMs: 1.5 }],
  ])("the result of %s is taken as it is", async (_, invocation, result) => {
    expect(await guardRunner({ run: async () => result }).run(invocation, OPTIONS)).toBe(result);
  });
});
