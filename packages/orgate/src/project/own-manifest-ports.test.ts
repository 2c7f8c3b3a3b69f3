import type { Invocation, InvocationResult, InvocationRunner } from "@orgate/toolclad";
import { describe, expect, test } from "vitest";
import { type FindSecret, guardRunner, toSecretsPort } from "./own-manifest-ports.ts";

const hanging = (): Promise<never> => new Promise(() => {});
const OPTIONS = { signal: new AbortController().signal, onOutput: () => {} };
const HTTP: Invocation = { kind: "http", method: "GET", url: "http://x/", headers: {}, body: null, allow: [], timeMs: 5, outputBytes: 100 };

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
    ["never answers", hanging, "time", "did not answer within 10 ms"],
  ])("one that %s has an unknown outcome, not a success", async (_, run, by, detail) => {
    const result = await guardRunner({ run }, 5).run(HTTP, OPTIONS);
    expect(result).toMatchObject({ kind: "stopped", by, detail: expect.stringContaining(detail) });
  });
});
