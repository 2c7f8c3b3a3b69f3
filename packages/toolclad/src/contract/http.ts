/**
 * A request: its address, headers and body are written in the manifest, and values are put into them in the form of the place they go to.
 *
 * T-20 a value never leaves its place: in an address it is percent-encoded, in a JSON body it is JSON, in a header it holds no line end; the
 *     scheme and the host are the manifest's own, or a checked host or address argument. A secret stands in headers and bodies only.
 */
import type { Json } from "@orgate/core/vocab";
import type { ArgType } from "./arg-type.ts";
import { type Host, isInternal, readHost } from "./hosts.ts";
import type { ManifestIssue } from "./issue.ts";
import type { WrittenManifest } from "./manifest-schema.ts";
import { listPlaceholders, listTemplateSecrets, type TemplatePiece, templatePieces } from "./template.ts";

type Body = Readonly<{ how: "json" | "form" | "xml" | "plain"; pieces: readonly TemplatePiece[] }>;
export type Http = Readonly<{
  method: string;
  url: readonly TemplatePiece[];
  /** Of the manifest's own; null when an argument says it. */
  host: Host | null;
  headers: readonly (readonly [string, readonly TemplatePiece[]])[];
  body: Body | null;
  isSuccess(status: number): boolean;
}>;

type Args = ReadonlyMap<string, Readonly<{ type: ArgType }>>;

export function readHttp(written: WrittenManifest, args: Args, issues: ManifestIssue[]): Http | null {
  const { http } = written;
  if (http === undefined) return null;
  const before = issues.length;
  const report = (field: string, detail: string, hint: string): void =>
    void issues.push({ path: ["http", ...field.split("/")], detail, hint });
  const url = templatePieces(http.url);
  const headers = Object.entries(http.headers).map(([name, text]) => [name, templatePieces(text)] as const);
  const body = http.body_template === undefined ? null : { how: howOf(http), pieces: templatePieces(http.body_template) };
  const places: readonly (readonly [string, readonly TemplatePiece[]])[] = [
    ["url", url],
    ...headers.map(([name, pieces]) => [`headers/${name}`, pieces] as const),
    ...(body === null ? [] : [["body_template", body.pieces] as const]),
  ];
  for (const [field, pieces] of places) {
    const stranger = listPlaceholders(pieces).find((name) => !args.has(name));
    if (stranger !== undefined) report(field, `nothing fills \`{${stranger}}\``, `declare [args.${stranger}]`);
  }
  for (const [name, pieces] of headers)
    if (pieces.some((p) => p.kind === "text" && /[^\x20-\x7e\t]/.test(p.text)))
      report(`headers/${name}`, "holds what no header may", "use plain ASCII");
  const [secret] = listTemplateSecrets(url);
  if (secret !== undefined) report("url", `\`{_secret:${secret}}\` in an address ends up in logs and proofs`, "put it into a header");
  const host = hostOf(url, args, report);
  if ((http.method === "GET" || http.method === "HEAD") && body !== null)
    report("body_template", `a ${http.method} has no body`, "use POST, or leave it out");
  if (body?.how === "json" && !isJson(body.pieces, args))
    report("body_template", "is no JSON once it is filled", "put text arguments inside quotes, others outside");
  const both = http.success_status.find((s) => http.error_status.includes(s));
  if (both !== undefined) report("error_status", `${both} is a success too`, "name it once");
  if (issues.length > before) return null;
  const success = new Set(http.success_status);
  const error = new Set(http.error_status);
  const isSuccess = (status: number): boolean =>
    !error.has(status) && (success.size === 0 ? status >= 200 && status < 300 : success.has(status));
  return { method: http.method, url, host, headers, body, isSuccess };
}

const HOSTS: readonly ArgType[] = ["scope_target", "ip_address"];

/** The host must be known before a value is: its own text, or one argument that is a host and nothing else. */
function hostOf(url: readonly TemplatePiece[], args: Args, report: (field: string, detail: string, hint: string) => void): Host | null {
  const [first, second, third] = url;
  if (first?.kind === "value" && url.length === 1 && args.get(first.name)?.type === "url") return null;
  const [, rest] = /^https?:\/\/([^/?#]*)/i.exec(first?.kind === "text" ? first.text : "") ?? [];
  const hint = "write https://host/… with a fixed host, a `scope_target` argument as the host, or a `url` argument as the whole address";
  if (rest === undefined) {
    report("url", "has no fixed scheme and host", hint);
    return null;
  }
  const ends = first?.kind === "text" && /^https?:\/\/[^/?#]*[/?#]/i.test(first.text);
  if (ends || second === undefined) {
    const read = rest.includes("@") ? null : readHost(rest.replace(/:\d{1,5}$/, "").replace(/^\[|\]$/g, ""));
    if (read === null || read.kind === "bad") report("url", `\`${rest}\` is no host`, hint);
    return read?.kind === "host" ? read.host : null;
  }
  const isHost = rest === "" && second.kind === "value" && HOSTS.includes(args.get(second.name)?.type ?? "string");
  const closes = third === undefined || (third.kind === "text" && /^(?::\d{1,5})?(?:[/?#]|$)/.test(third.text));
  if (!isHost || !closes) report("url", "lets a value reach into its host", hint);
  return null;
}

function howOf({ headers, body_template = "" }: NonNullable<WrittenManifest["http"]>): Body["how"] {
  const type = Object.entries(headers)
    .find(([name]) => name.toLowerCase() === "content-type")?.[1]
    .toLowerCase();
  if (type?.includes("json") === true) return "json";
  if (type?.includes("form-urlencoded") === true) return "form";
  if (type?.includes("xml") === true) return "xml";
  return type === undefined && /^\s*[{[]/.test(body_template) ? "json" : "plain";
}

function isJson(pieces: readonly TemplatePiece[], args: Args): boolean {
  const sample = (name: string): Json =>
    args.get(name)?.type === "integer" || args.get(name)?.type === "port" ? 1 : args.get(name)?.type === "boolean" ? true : "x";
  try {
    JSON.parse(inJson(pieces, sample, () => "x"));
    return true;
  } catch {
    return false;
  }
}

/** Inside quotes a value is part of that text; outside it is a whole JSON value. Which it is, the manifest's own text says. */
function inJson(pieces: readonly TemplatePiece[], jsonOf: (name: string) => Json, secret: (name: string) => string): string {
  let quoted = false;
  let out = "";
  for (const piece of pieces) {
    if (piece.kind === "text") {
      for (let i = 0; i < piece.text.length; i += 1) {
        if (quoted && piece.text[i] === "\\") i += 1;
        else if (piece.text[i] === '"') quoted = !quoted;
      }
      out += piece.text;
      continue;
    }
    const value = piece.kind === "value" ? jsonOf(piece.name) : secret(piece.name);
    out += quoted ? JSON.stringify(value === null ? "" : String(value)).slice(1, -1) : JSON.stringify(value);
  }
  return out;
}

export type HttpRequest = Readonly<{ url: string; headers: Readonly<Record<string, string>>; body: string | null; host: Host }>;
export type FilledRequest = Readonly<{ kind: "request"; request: HttpRequest }> | Readonly<{ kind: "refused"; why: string }>;

export type Fillings = Readonly<{
  /** Null when it was not given. */
  textOf(arg: string): string | null;
  jsonOf(arg: string): Json;
  secret(name: string): string;
}>;

export function fillHttp(http: Http, { textOf, jsonOf, secret }: Fillings): FilledRequest {
  const refused = (why: string): FilledRequest => ({ kind: "refused", why });
  const raw = (pieces: readonly TemplatePiece[], shape: (text: string, index: number) => string): string =>
    pieces.map((p, i) => (p.kind === "text" ? p.text : shape(p.kind === "value" ? (textOf(p.name) ?? "") : secret(p.name), i))).join("");
  const isWhole = http.url.length === 1;
  // a host stands where the manifest's own text has just opened one
  const isHost = (i: number): boolean => i === 1 && http.host === null && http.url[0]?.kind === "text";
  const url = URL.parse(raw(http.url, (text, i) => (isWhole ? text : isHost(i) ? bracketed(text) : encodeURIComponent(text))));
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) return refused("the address it makes is none");
  if (url.username !== "" || url.password !== "") return refused("the address it makes holds a name or a password");
  const read = readHost(url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname);
  if (read.kind === "bad") return refused(`the address it makes has a host that ${read.why}`);
  if (http.host !== null && http.host.text !== read.host.text) return refused("the address it makes leads to another host");
  if (http.url.some((p) => p.kind === "value" && !isWhole && isDots(textOf(p.name) ?? "")))
    return refused("a value would climb up in the address");
  const headers: Record<string, string> = {};
  for (const [name, pieces] of http.headers) {
    const value = raw(pieces, (text) => text);
    if (/[^\x20-\x7e\t]/.test(value)) return refused(`header \`${name}\` would hold a line end or what is not ASCII`);
    headers[name] = value;
  }
  return { kind: "request", request: { url: url.href, headers, body: bodyOf(http.body, raw, jsonOf, secret), host: read.host } };
}

const bracketed = (text: string): string => (text.includes(":") ? `[${text}]` : text);
const isDots = (text: string): boolean => text === "." || text === "..";

function bodyOf(
  body: Body | null,
  raw: (pieces: readonly TemplatePiece[], shape: (text: string) => string) => string,
  jsonOf: (name: string) => Json,
  secret: (name: string) => string,
): string | null {
  if (body === null) return null;
  switch (body.how) {
    case "json":
      return inJson(body.pieces, jsonOf, secret);
    case "form":
      return raw(body.pieces, encodeURIComponent);
    case "xml":
      return raw(body.pieces, (text) => text.replace(/[<>&"']/g, (c) => `&#${c.charCodeAt(0)};`));
    case "plain":
      return raw(body.pieces, (text) => text);
  }
}

/** Whether it is reached only when the scope names it. */
export const needsScope = (host: Host): boolean => isInternal(host);
