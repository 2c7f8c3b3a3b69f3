/** Calls an operation of the server that runs for this project, with the key in `$ORGATE_API_KEY`. */
import { randomUUID } from "node:crypto";
import { networkInterfaces } from "node:os";
import { errorMessage, FaultError, isLoopback } from "@orgate/core/vocab";
import { type CallableOperation, createClient, type OperationFields, type OperationInput } from "@orgate/protocol";
import { OPERATION_WORDS } from "@orgate/protocol/words";
import { type Given, INTERRUPTED } from "@orgate/shell/terminal";
import { readServerAddress } from "../../files/server-address.ts";
import type { OperationResult } from "../../operations/result.ts";
import { openGivenProject } from "../commands/project/read-only.ts";
import { readKey, toOperationError } from "./input.ts";

export type CallOperation = (name: CallableOperation, fields: OperationFields) => Promise<OperationResult>;

/** Null if no server runs for the project, or there is no key for it. */
export function findServer(given: Given): CallOperation | null {
  const key = given.env.ORGATE_API_KEY ?? "";
  const url = key === "" ? null : readServerAddress(openGivenProject(given).journal.directory);
  if (url === null) return null;
  mustBeKey(key);
  const address = mustBeThisMachine(url);
  return (name, fields) => callServer(given, { address, key }, name, fields);
}

/** A header with anything else in it is an error whose message would quote the key. */
function mustBeKey(key: string): void {
  if (/^[\x21-\x7e]+$/.test(key)) return;
  const detail = "it has a blank or another character that no key has";
  throw new FaultError({ kind: "key-bad", key: "$ORGATE_API_KEY", detail, hint: "`orgate keys create NAME --api` makes one" });
}

/** S-2. A file of the project names the server, and a project may come from anywhere: the key does not leave this machine because a file says so. */
function mustBeThisMachine(url: string): URL {
  const address = new URL(url);
  if (address.protocol === "http:" && isThisMachine(address.hostname)) return address;
  throw new FaultError({
    kind: "usage",
    detail: `the project's \`server.json\` names ${address.origin}, which is not this machine: $ORGATE_API_KEY is not sent there`,
    hint: "unset ORGATE_API_KEY to run the command in this process; `orgate shell --attach URL` connects to another machine",
  });
}

/** Loopback, or an address of one of this machine's own networks: `orgate up --host` may listen there. */
export function isThisMachine(host: string, networks: Networks = networkInterfaces()): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1");
  return isLoopback(host) || Object.values(networks).some((network) => network?.some(({ address }) => address === name) === true);
}
type Networks = Readonly<Record<string, readonly Readonly<{ address: string }>[] | undefined>>;

async function callServer(
  given: Given,
  { address, key }: Readonly<{ address: URL; key: string }>,
  name: CallableOperation,
  fields: OperationFields,
): Promise<OperationResult> {
  const client = createClient(async ({ method, path, headers, body, signal }) => {
    const answer = await fetch(new URL(path, address), {
      method,
      headers: { ...headers, authorization: `Bearer ${key}` },
      body,
      signal,
      redirect: "error",
    });
    return { status: answer.status, mediaType: answer.headers.get("content-type") ?? "", text: () => answer.text() };
  }, randomUUID);
  const once = readKey(given);
  const sent: Sent = { address, key: OPERATION_WORDS[name].idempotencyKey ? once : null };
  const called = await untilInterrupted(sent, (signal) =>
    client.call(name, fields as OperationInput<CallableOperation>, { key: once, signal }),
  );
  if (called.kind === "problem") throw toOperationError(called.problem, { name, fields });
  return typeof called.value === "string" ? { kind: "text", mediaType: "", text: called.value } : { kind: "json", value: called.value };
}

/** `key` is the idempotency key of a change, null where nothing is changed. */
type Sent = Readonly<{ address: URL; key: string | null }>;

/** Ctrl-C closes the connection, so that the server stops working for nobody. A change that has no answer may have been made: its key tells. */
async function untilInterrupted<T>({ address, key }: Sent, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  process.once("SIGINT", leave);
  try {
    return await work(left.signal);
  } catch (error) {
    if (error instanceof FaultError) throw error;
    const repeat = key === null ? null : `the server may have begun it: the same command with --key ${key} returns its result`;
    if (left.signal.aborted)
      throw new FaultError({ kind: "usage", detail: "interrupted before the server answered", hint: repeat ?? "" }, INTERRUPTED);
    const detail = errorMessage(error instanceof Error && error.cause instanceof Error ? error.cause : error);
    throw new FaultError(
      { kind: "unreachable", what: address.host, detail, hint: repeat ?? "is it up? `orgate up` serves a project" },
      error,
    );
  } finally {
    process.off("SIGINT", leave);
  }
}
