/**
 * Calls any operation of the table by its name: through the server that runs for this project when there is a key for it, otherwise in this process, by the
 * same handlers under the same policies. Operations without a command of their own are reachable this way.
 */
import { randomUUID } from "node:crypto";
import { FaultError, type Json, type JsonObject, readJson } from "@orgate/core";
import { findNearestWord } from "@orgate/core/vocab";
import {
  type CallableOperation,
  createClient,
  OPERATION_NAMES,
  OPERATIONS,
  type Operation,
  type OperationInput,
  type OperationName,
  type OperationRequest,
  openApi,
  type Problem,
  unreadable,
} from "@orgate/core/wire";
import * as z from "zod";
import { readServerAddress } from "../../../files/server-address.ts";
import { version } from "../../../node/version.ts";
import { policyRefusal } from "../../../operations/access-limits.ts";
import { OperationExecutor } from "../../../operations/execute.ts";
import { openIdempotency } from "../../../operations/idempotency.ts";
import { NO_LOG } from "../../../operations/logs.ts";
import { openOperations } from "../../../operations/open.ts";
import { isRefusal } from "../../../operations/refusal.ts";
import type { OperationResult } from "../../../operations/result.ts";
import { loadRunnableProject } from "../../../project/load.ts";
import { openRequestKeys } from "../../../store/idempotency-keys.ts";
import { EXIT, type Given, type RunCommand } from "../../../terminal/command.ts";
import type { Screen } from "../../../terminal/screen.ts";
import { visibleLines } from "../../../terminal/visible.ts";
import { usage } from "../people/approvals.ts";
import { certified, personOf, projectOf } from "./project.ts";
import { openProjectRuntime } from "./serving.ts";

export const call: RunCommand = async (given, screen) => {
  const name = mustBeOperation(given.args[0] ?? "");
  const fields = distribute(OPERATIONS[name], inputOf(given));
  const url = readServerAddress(projectOf(given).journal.directory);
  const key = given.env.ORGATE_API_KEY ?? "";
  if (url !== null && key !== "") await print(given, screen, await callServer(given, { name, fields, url, key }));
  else await callHere(given, screen, name, fields);
  return EXIT.success;
};

function mustBeOperation(text: string): CallableOperation {
  const name = OPERATION_NAMES.find((one) => one === text);
  if (name === undefined) {
    const near = findNearestWord(text, OPERATION_NAMES);
    throw usage(
      `there is no operation \`${text}\``,
      `${near === null ? "" : `did you mean \`${near}\`? `}there are: ${OPERATION_NAMES.join(", ")}`,
    );
  }
  const { method, path, onlyConnected }: Operation = OPERATIONS[name];
  if (onlyConnected === undefined) return name as CallableOperation;
  throw usage(`\`${name}\` is for connections to a server: ${onlyConnected}`, `\`orgate up\` serves it as ${method} /api/v1${path}`);
}

type Fields = Readonly<{ params: JsonObject; query: JsonObject; body: JsonObject | undefined }>;

/** `--input` is the whole input, `--arg` adds to it; a value that is JSON counts as that. */
function inputOf(given: Given): JsonObject {
  const base = wholeInput(given.text("input"));
  const pairs = given.texts("arg").map((text): [string, JsonObject[string]] => {
    const cut = text.indexOf("=");
    if (cut < 1) throw usage(`--arg is \`${text}\``, "write NAME=VALUE");
    const value = readJson(text.slice(cut + 1));
    return [text.slice(0, cut), value.kind === "json" ? value.value : text.slice(cut + 1)];
  });
  return { ...base, ...Object.fromEntries(pairs) };
}

function wholeInput(text: string | null): JsonObject {
  const read = text === null ? null : readJson(text);
  if (read === null) return {};
  if (read.kind === "json" && isJsonObject(read.value)) return read.value;
  throw usage("--input is no JSON object", `for example --input '{"limit":5}'`);
}
const isJsonObject = (value: Json): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

/** The names in the path are its parameters; the rest is the query of what only reads, and the body of what acts. */
function distribute({ method, path, body }: Operation, input: JsonObject): Fields {
  const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, field]) => field));
  const entries = Object.entries(input);
  const params = Object.fromEntries(entries.filter(([field]) => inPath.has(field)));
  const rest = Object.fromEntries(entries.filter(([field]) => !inPath.has(field)));
  if (method === "GET") return { params, query: rest, body: undefined };
  const hasBody = !(body instanceof z.ZodUndefined) || Object.keys(rest).length > 0;
  return { params, query: {}, body: hasBody ? rest : undefined };
}

type ServerCall = Readonly<{ name: CallableOperation; fields: Fields; url: string; key: string }>;
async function callServer(given: Given, { name, fields, url, key }: ServerCall): Promise<OperationResult> {
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
  const once = given.text("key");
  const called = await client.call(name, fields as OperationInput<CallableOperation>, once === null ? {} : { key: once });
  if (called.kind === "problem") throw toFault(called.problem, name);
  return typeof called.value === "string" ? { kind: "text", mediaType: "", text: called.value } : { kind: "json", value: called.value };
}

async function callHere(given: Given, screen: Screen, name: CallableOperation, fields: Fields): Promise<void> {
  const request = decode(name, fields);
  const person = personOf(given, screen);
  const loaded = await loadRunnableProject(projectOf(given), { env: given.env, surface: "cli" });
  const { config, project, gate } = loaded;
  const principal = { kind: "user", id: person.name } as const;
  const runtime = await openProjectRuntime(given, screen, loaded, person);
  try {
    await certified(given, screen, runtime.place, person);
    const keys = openRequestKeys(config.journal.directory);
    const operations = openOperations({ runtime, version: version(), describe: () => openApi(version()), config, log: NO_LOG });
    operations.context.floor.stop(); // only what is asked for is driven here: sessions that others left are a server's to take up
    try {
      const executor = new OperationExecutor({
        runtime,
        access: { mayDo: ({ person: { name } }, act) => policyRefusal(gate, name, act) },
        handlers: operations.handlers,
        once: openIdempotency(keys, Date.now),
      });
      const { result } = await executor.execute({
        name,
        caller: { principal, person, scope: { agents: null, actions: null, expiresAt: null } },
        request,
        idempotencyKey: given.text("key") ?? randomUUID(),
        gone: new AbortController().signal,
      });
      await print(given, screen, result);
      await operations.context.floor.settle(); // nobody else may drive what was begun here
    } catch (error) {
      throw isRefusal(error) ? toFault(error.problem, name) : error;
    } finally {
      operations.close();
      keys.close();
    }
  } finally {
    await runtime.close();
    await project.mcp?.hub.close();
  }
}

function decode(name: CallableOperation, fields: Fields): OperationRequest<OperationName> {
  const operation: Operation = OPERATIONS[name];
  const read = (schema: z.ZodType, value: unknown): unknown => {
    const found = schema.safeParse(value);
    if (!found.success) throw toFault(unreadable("the input", found.error), name);
    return found.data;
  };
  const [params, query, body] = [
    read(operation.params, fields.params),
    read(operation.query, fields.query),
    read(operation.body, fields.body),
  ];
  return { params, query, body } as OperationRequest<OperationName>; // the schemas are the operation's own
}

function toFault({ status, detail, hint, issues }: Problem, name: string): FaultError {
  if (status === 401 || status === 403) return new FaultError({ kind: "not-permitted", user: "the caller", what: name, reason: detail });
  const where = issues.map(({ path, message }) => `${path}: ${message}`).join("; ");
  return usage(where === "" ? detail : `${detail} (${where})`, hint);
}

async function print(given: Given, screen: Screen, result: OperationResult): Promise<void> {
  const shown = (text: string): string => (screen.isTerminal ? visibleLines(text) : text); // an export is bytes that hashes fit: only a terminal gets it escaped
  switch (result.kind) {
    case "json":
      return screen.line(given.json ? JSON.stringify(result.value) : visibleLines(JSON.stringify(result.value, null, 2)));
    case "text":
      return screen.write(shown(result.text));
    case "stream":
      return result.write({ write: async (text) => screen.write(shown(text)) }, new AbortController().signal);
  }
}
