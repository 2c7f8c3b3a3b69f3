import { describe, expect, test } from "vitest";
import { contract } from "./fixtures/manifests.ts";
import { addImpliedTypes, parseOutput } from "./output.ts";
import { createMask, maskJson, toManifestResult } from "./result.ts";
import type { InvocationResult } from "./running.ts";

const shell = (output: object = {}) => contract({ command: { template: "t" }, output }).manifest;
const exited = (more: Partial<Extract<InvocationResult, { kind: "exited" }>>): InvocationResult => ({
  kind: "exited",
  code: 0,
  signal: null,
  stdout: "",
  stderr: "",
  truncated: false,
  durationMs: 1,
  ...more,
});
const stopped = (by: Extract<InvocationResult, { kind: "stopped" }>["by"]): InvocationResult => ({
  kind: "stopped",
  by,
  detail: "d",
  stdout: "",
  stderr: "",
  durationMs: 1,
});

describe("results", () => {
  test("T-24 a non-zero exit is a failure, with what it said", () => {
    expect(toManifestResult(shell(), exited({ code: 3, stderr: "no such host\n" }))).toMatchObject({
      kind: "failed",
      error: "exit status 3: no such host",
      status: 3,
    });
    expect(toManifestResult(shell(), exited({ code: null, signal: "SIGSEGV" }))).toMatchObject({ kind: "failed" });
    expect(toManifestResult(shell(), exited({ stdout: "ok" }))).toMatchObject({ kind: "done", output: { raw_output: "ok" }, status: 0 });
  });

  test("T-24 what was killed, stopped or lost sight of is unknown", () => {
    expect(toManifestResult(shell(), exited({ code: null, signal: "SIGKILL" }))).toMatchObject({ kind: "unknown", cause: "killed" });
    const causes = (["time", "memory", "processes", "output", "signal", "connection"] as const).map((by) =>
      toManifestResult(shell(), stopped(by)),
    );
    expect(causes.map((r) => (r.kind === "unknown" ? r.cause : r.kind))).toEqual([
      "timed-out",
      "killed",
      "killed",
      "killed",
      "cancelled",
      "connection-lost",
    ]);
  });

  test("T-24 what was refused has failed before it began", () => {
    expect(toManifestResult(shell(), { kind: "refused", reason: "no sandbox", hint: "install bubblewrap" })).toMatchObject({
      kind: "failed",
      error: "not run: no sandbox (install bubblewrap)",
    });
  });

  test("T-24 a status is a success when the manifest says so", () => {
    const http = (more: object) => contract({ http: { method: "GET", url: "https://example.com/", ...more } }).manifest;
    const of = (status: number, more: object = {}) =>
      toManifestResult(http(more), { kind: "responded", status, headers: {}, body: "b", truncated: false, durationMs: 1 }).kind;
    expect([of(200), of(204), of(302), of(404), of(500)]).toEqual(["done", "done", "failed", "failed", "failed"]);
    expect([of(200, { success_status: [404] }), of(404, { success_status: [404] }), of(201, { error_status: [201] })]).toEqual([
      "failed",
      "done",
      "failed",
    ]);
  });

  test("T-24 a server that says it failed has", () => {
    const mcp = contract({ mcp: { server: "s", tool: "t" } }).manifest;
    expect(toManifestResult(mcp, { kind: "answered", output: { a: 1 }, isError: false, truncated: false, durationMs: 1 })).toMatchObject({
      kind: "done",
      output: { a: 1 },
    });
    expect(toManifestResult(mcp, { kind: "answered", output: "boom", isError: true, truncated: false, durationMs: 1 })).toMatchObject({
      kind: "failed",
      error: "boom",
    });
  });
});

describe("output", () => {
  const output = (text: string, format: Parameters<typeof parseOutput>[1]) => {
    const parsed = parseOutput(text, format, false);
    return parsed.kind === "output" ? parsed.output : parsed.why;
  };

  test("T-23 the formats are read as they are meant", () => {
    expect(output('{"a": [1]}', "json")).toEqual({ a: [1] });
    expect(output('{"a":1}\n\n{"a":2}\n', "jsonl")).toEqual([{ a: 1 }, { a: 2 }]);
    expect(output('name,note\r\nann,"a, ""b""\nc"\r\nbob,\r\n', "csv")).toEqual([
      { name: "ann", note: 'a, "b"\nc' },
      { name: "bob", note: "" },
    ]);
    expect(output("hi\n", "text")).toEqual({ raw_output: "hi\n" });
    expect(
      output(
        '<?xml version="1.0"?><!DOCTYPE run><run a="1&amp;2"><host ip="x"/><host>t &#65; <![CDATA[<b>]]></host><!-- c --></run>',
        "xml",
      ),
    ).toEqual({
      run: { "@a": "1&2", host: [{ "@ip": "x" }, "t A <b>"] },
    });
  });

  test.each([
    ["{a", "json"],
    ['{"a":1}\n{', "jsonl"],
    ["a,b\n1", "csv"],
    ['a\n"b', "csv"],
    ["a,a\n1,2", "csv"],
    ["<a><b></a>", "xml"],
    ["<a>", "xml"],
    ["<a/><b/>", "xml"],
    ["text", "xml"],
    ["<a>&unknown;</a>", "xml"],
    ['<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "xml"],
    [`${"<a>".repeat(300)}${"</a>".repeat(300)}`, "xml"],
  ] as const)("T-23 %j is no %s, and is withheld", (text, format) => expect(parseOutput(text, format, false).kind).toBe("withheld"));

  test("T-23 what was cut is told as cut, and is not read as anything but text", () => {
    expect(parseOutput("abc", "text", true)).toEqual({ kind: "output", output: { raw_output: "abc", truncated: true } });
    expect(parseOutput("{}", "json", true)).toMatchObject({ kind: "withheld" });
    expect(toManifestResult(shell({ format: "json" }), exited({ stdout: "{" }))).toMatchObject({
      kind: "done",
      output: null,
      withheld: expect.stringContaining("no json"),
    });
  });

  test("T-23 a schema says what it is about, also where the format lets that go unsaid", () => {
    expect(addImpliedTypes({ properties: { hosts: { items: { properties: { ip: { type: "string" } } } } } })).toEqual({
      type: "object",
      properties: { hosts: { type: "array", items: { type: "object", properties: { ip: { type: "string" } } } } },
    });
  });
});

test("T-21 a text that was cut in the middle of a secret does not end with its beginning", () => {
  const mask = createMask(new Map([["k", "canary-4711"]]), btoa);
  for (const torn of ["canary-471", "canary-", "can", btoa("canary-4711").slice(0, 9)])
    expect(mask(`it is ${torn}`, true)).toBe("it is [secret:k]");
  expect(mask("it is canary-4711", true)).toBe("it is [secret:k]");
  expect(mask("it is a canary-bird", true)).toBe("it is a canary-bird");
  expect(mask("it is can")).toBe("it is can");
});

test("T-21 addresses and base64 have more than one way to write a secret", () => {
  const value = "a b/c?~~~>>>";
  const mask = createMask(new Map([["k", value]]), btoa);
  const encoded = encodeURIComponent(value);
  const url = btoa(value).replaceAll("+", "-").replaceAll("/", "_");
  expect(url).not.toBe(btoa(value));
  for (const form of [encoded, encoded.toLowerCase(), encoded.replaceAll("%20", "+"), url, url.replace(/=+$/, "")])
    expect(mask(`x ${form} y`)).toBe("x [secret:k] y");
});

test("T-21 a secret is masked in every form it is written in", () => {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const mask = createMask(
    new Map([
      ["key", 'k"e/y 1'],
      ["longer", 'k"e/y 1+more'],
    ]),
    base64,
  );
  const written = ['k"e/y 1', 'k\\"e/y 1', "k%22e%2Fy%201", base64('k"e/y 1')];
  expect(written.map((form) => mask(`<${form}>`))).toEqual(written.map(() => "<[secret:key]>"));
  expect(mask('k"e/y 1+more')).toBe("[secret:longer]");
  expect(maskJson({ 'k"e/y 1': ['k"e/y 1', 1, null] }, mask)).toEqual({ "[secret:key]": ["[secret:key]", 1, null] });
});
