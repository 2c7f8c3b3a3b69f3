/** Calls an operation of the server that runs for this project, with the key in `$ORGATE_API_KEY`. */
import { randomUUID } from "node:crypto";
import { FaultError } from "@orgate/core";
import { type CallableOperation, createClient, type OperationFields, type OperationInput } from "@orgate/protocol";
import { type Given, INTERRUPTED } from "@orgate/shell/terminal";
import { readServerAddress } from "../../files/server-address.ts";
import type { OperationResult } from "../../operations/result.ts";
import { openGivenProject } from "../commands/project/read-only.ts";
import { toOperationFault } from "./input.ts";

export type CallOperation = (name: CallableOperation, fields: OperationFields) => Promise<OperationResult>;

/** Null if no server runs for the project, or there is no key for it. */
export function findServer(given: Given): CallOperation | null {
  const key = given.env.ORGATE_API_KEY ?? "";
  const url = key === "" ? null : readServerAddress(openGivenProject(given).journal.directory);
  return url === null ? null : (name, fields) => callServer(given, { url, key }, name, fields);
}

async function callServer(
  given: Given,
  { url, key }: Readonly<{ url: string; key: string }>,
  name: CallableOperation,
  fields: OperationFields,
): Promise<OperationResult> {
  const client = createClient(async ({ method, path, headers, body, signal }) => {
    const answer = await fetch(new URL(path, url), {
      method,
      headers: { ...headers, authorization: `Bearer ${key}` },
      body,
      signal,
      redirect: "error",
    });
    return { status: answer.status, mediaType: answer.headers.get("content-type") ?? "", text: () => answer.text() };
  }, randomUUID);
  const once = given.text("key") ?? randomUUID();
  const called = await untilInterrupted(once, (signal) =>
    client.call(name, fields as OperationInput<CallableOperation>, { key: once, signal }),
  );
  if (called.kind === "problem") throw toOperationFault(called.problem, name);
  return typeof called.value === "string" ? { kind: "text", mediaType: "", text: called.value } : { kind: "json", value: called.value };
}

/** Ctrl-C closes the connection, so that the server stops working for nobody, and says how to ask again. */
async function untilInterrupted<T>(key: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  process.once("SIGINT", leave);
  try {
    return await work(left.signal);
  } catch (error) {
    if (!left.signal.aborted) throw error;
    const hint = `the server may have begun it: the same command with --key ${key} returns its result`;
    throw new FaultError({ kind: "usage", detail: "interrupted before the server answered", hint }, INTERRUPTED);
  } finally {
    process.off("SIGINT", leave);
  }
}
