/**
 * Parses the output of a tool into JSON.
 * Rule: T-23.
 */
import { type Json, readJson } from "@orgate/core/vocab";
import { readXml } from "./xml.ts";

export type Format = "json" | "xml" | "csv" | "jsonl" | "text";
export type ParsedOutput = Readonly<{ kind: "output"; output: Json }> | Readonly<{ kind: "withheld"; why: string }>;

const withheld = (why: string): ParsedOutput => ({ kind: "withheld", why });
const MAX_ROWS = 100_000;

/** A text that was cut can only be read as text. */
export function parseOutput(text: string, format: Format, truncated: boolean): ParsedOutput {
  if (format === "text") return { kind: "output", output: truncated ? { raw_output: text, truncated: true } : { raw_output: text } };
  if (truncated) return withheld("it is longer than the tool may print");
  try {
    return { kind: "output", output: structured(text, format) };
  } catch (error) {
    return withheld(`it is no ${format}: ${error instanceof Error ? error.message : "it cannot be read"}`);
  }
}

function mustRead(text: string): Json {
  const read = readJson(text);
  if (read.kind === "json") return read.value;
  throw new Error(`${read.detail} (line ${read.line})`);
}

function structured(text: string, format: Exclude<Format, "text">): Json {
  switch (format) {
    case "json":
      return mustRead(text);
    case "jsonl":
      return text
        .split("\n")
        .filter((line) => line.trim() !== "")
        .map(mustRead);
    case "csv":
      return rowsOf(text);
    case "xml":
      return readXml(text);
  }
}

/** RFC 4180; the first row names the columns. */
function rowsOf(text: string): Json {
  const [head = [], ...rows] = recordsOf(text.replace(/^\ufeff/, ""));
  if (new Set(head).size !== head.length) throw new Error("two columns have one name");
  return rows.map((row, i) => {
    if (row.length !== head.length) throw new Error(`row ${i + 2} has ${row.length} fields, and there are ${head.length} columns`);
    return Object.fromEntries(head.map((name, n) => [name, row[n] ?? ""]));
  });
}

function recordsOf(text: string): readonly (readonly string[])[] {
  const records: string[][] = [];
  let [record, field, at]: [string[], string, number] = [[], "", 0];
  const endField = (): void => {
    record.push(field);
    field = "";
  };
  const endRecord = (): void => {
    endField();
    if (record.length > 1 || record[0] !== "") records.push(record);
    if (records.length > MAX_ROWS) throw new Error(`there are more than ${MAX_ROWS} rows`);
    record = [];
  };
  while (at < text.length) {
    const c = text[at];
    if (c === '"' && field === "") {
      const end = closing(text, at + 1);
      field = text.slice(at + 1, end).replaceAll('""', '"');
      at = end + 1;
      if (at < text.length && !/[,\r\n]/.test(text[at] ?? "")) throw new Error("a quoted field goes on behind its quote");
    } else if (c === ",") {
      endField();
      at += 1;
    } else if (c === "\n" || c === "\r") {
      endRecord();
      at += c === "\r" && text[at + 1] === "\n" ? 2 : 1;
    } else {
      field += c;
      at += 1;
    }
  }
  if (field !== "" || record.length > 0) endRecord();
  return records;
}

function closing(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at !== -1; at = text.indexOf('"', at + 2)) if (text[at + 1] !== '"') return at;
  throw new Error("a quoted field has no end");
}

/** `properties` and `items` say what they are about, though the format lets that go unsaid. */
export function addImpliedTypes(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(addImpliedTypes);
  if (typeof schema !== "object" || schema === null) return schema;
  const fields = Object.fromEntries(
    Object.entries(schema).map(([key, inner]): [string, Json] => {
      if (key === "properties" && typeof inner === "object" && inner !== null && !Array.isArray(inner))
        return [key, Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, addImpliedTypes(one)]))];
      return [
        key,
        key === "items" || key === "additionalProperties" || key === "anyOf" || key === "oneOf" ? addImpliedTypes(inner) : inner,
      ];
    }),
  );
  if (fields["type"] !== undefined) return fields;
  if (fields["properties"] !== undefined) return { type: "object", ...fields };
  return fields["items"] !== undefined ? { type: "array", ...fields } : fields;
}
