/**
 * Calls any operation of the table by its name: through the server that runs for this project when there is a key for it, otherwise in this process, by the
 * same handlers under the same policies. Operations without a command of their own are reachable this way.
 */
import { type Json, type JsonObject, readJson } from "@orgate/core";
import { findNearestWord } from "@orgate/core/vocab";
import { type CallableOperation, OPERATION_NAMES, OPERATIONS, type Operation, toOperationInput } from "@orgate/protocol";
import { readNamedValue } from "@orgate/protocol/words";
import type { Screen } from "@orgate/shell/terminal";
import { EXIT, type Given, type RunCommand, visibleLines } from "@orgate/shell/terminal";
import type { OperationResult } from "../../../operations/result.ts";
import { withLocalOperations } from "../../operations/local.ts";
import { findServer } from "../../operations/through-server.ts";
import { usage } from "../people/approvals.ts";

export const call: RunCommand = async (given, screen) => {
  const name = mustBeOperation(given.args[0] ?? "");
  const fields = toOperationInput(name, inputOf(given));
  const server = findServer(given);
  if (server !== null) await print(given, screen, await server(name, fields));
  else await withLocalOperations(given, screen, "all", async (local) => print(given, screen, await local.call(name, fields)));
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

/** `--input` is the whole input; words after the name, and `--arg`, add to it; a value that is JSON counts as that. */
function inputOf(given: Given): JsonObject {
  const base = wholeInput(given.text("input"));
  const read = (what: string) => (text: string) => {
    const field = readNamedValue(text);
    if (field === null) throw usage(`${what} \`${text}\``, "write NAME=VALUE");
    return field;
  };
  const words = given.args.slice(1).map(read("a field is"));
  return { ...base, ...Object.fromEntries([...words, ...given.texts("arg").map(read("--arg is"))]) };
}

function wholeInput(text: string | null): JsonObject {
  const read = text === null ? null : readJson(text);
  if (read === null) return {};
  if (read.kind === "json" && isJsonObject(read.value)) return read.value;
  throw usage("--input is no JSON object", `for example --input '{"limit":5}'`);
}
const isJsonObject = (value: Json): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);

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
