/**
 * The console: files that were built once, given as they are. Only files of the build are ever given, found by their names in it.
 *
 * O-2 the page may load from this server alone, run no script and no style that is not a file of the build, be framed by nobody; what has a hash in its
 *    name is kept for good, the page itself is asked for again each time; what a browser takes compressed is given so.
 * Every address of the console is its page, so that it can be sent to somebody; where there is no build, the page says what to run.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HttpAnswer } from "./http-response.ts";
import type { ServedPage } from "./server.ts";

/** In a checkout the console is built beside; in a package it lies within. */
export const consoleFolder = (): string =>
  fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../../../../console/dist" : "../../console", import.meta.url));

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json",
};
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");
/** Not the console's: a missing path there gets problem details, not the page. */
const OTHERS = /^\/(?:api|ws|docs|livez|readyz|sign-out)(?:\/|$)/;
/** Names of the build that carry a hash of their content. */
const HASHED = /^\/assets\/.+-[\w-]{8}\.\w+$/;

type File = Readonly<{ path: string; mediaType: string; packed: readonly ("br" | "gz")[] }>;
type Build = Readonly<{ of: number; files: ReadonlyMap<string, File> }>;

export function consolePage(folder: string = consoleFolder()): ServedPage {
  let build: Build | null = null;
  const bytes = new Map<string, Buffer>();
  /** A build may come, or be replaced, while the server runs. */
  const current = (): Build | null => {
    const of = statSync(join(folder, "index.html"), { throwIfNoEntry: false })?.mtimeMs;
    if (of === undefined) return null;
    if (build?.of === of) return build;
    bytes.clear();
    build = { of, files: filesIn(folder) };
    return build;
  };
  const read = (path: string): Buffer => {
    const found = bytes.get(path) ?? readFileSync(path);
    bytes.set(path, found);
    return found;
  };
  const answer: ServedPage["answer"] = async ({ method, path }, message) => {
    if ((method !== "GET" && method !== "HEAD") || OTHERS.test(path)) return null;
    const now = current();
    const wanted = now?.files.get(path);
    const isPage = wanted === undefined && takesPages(message);
    if (now === null) return isPage && path !== "/sign-in" ? { status: 200, answer: NOT_BUILT } : null;
    const file = isPage ? now.files.get("/index.html") : wanted;
    return file === undefined ? null : { status: 200, answer: given(file, path, message, read) };
  };
  return { ways: ["GET /"], answer };
}

const takesPages = ({ headers }: IncomingMessage): boolean => (headers.accept ?? "").includes("text/html");

function given(file: File, path: string, { headers }: IncomingMessage, read: (path: string) => Buffer): HttpAnswer {
  const taken = String(headers["accept-encoding"] ?? "");
  const how = file.packed.find((name) => new RegExp(`\\b${name === "gz" ? "gzip" : name}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\b)`).test(taken));
  return {
    kind: "bytes",
    mediaType: file.mediaType,
    bytes: read(how === undefined ? file.path : `${file.path}.${how}`),
    headers: {
      "content-security-policy": CONTENT_POLICY,
      "cache-control": HASHED.test(path) ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "accept-encoding",
      ...(how === undefined ? {} : { "content-encoding": how === "gz" ? "gzip" : how }),
    },
  };
}

/** By the path that each is asked for under; nothing that begins with a dot. */
function filesIn(folder: string): ReadonlyMap<string, File> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => name.replaceAll("\\", "/"));
  const there = new Set(names);
  const files = new Map<string, File>();
  for (const name of names) {
    const mediaType = MEDIA_TYPES[extname(name)];
    if (mediaType === undefined || name.split("/").some((part) => part.startsWith("."))) continue;
    const packed = (["br", "gz"] as const).filter((how) => there.has(`${name}.${how}`));
    files.set(`/${name}`, { path: join(folder, name), mediaType, packed });
  }
  return files;
}

const STYLE = "body{font:16px/1.5 system-ui,sans-serif;margin:4rem auto;max-width:40rem;padding:0 1rem;color-scheme:light dark}";
const NOT_BUILT: HttpAnswer = {
  kind: "text",
  mediaType: "text/html; charset=utf-8",
  headers: {
    "content-security-policy": `default-src 'none'; style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'; frame-ancestors 'none'; base-uri 'none'`,
  },
  text: `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Orgate: the console is not built</title><style>${STYLE}</style></head>
<body><main><h1>The console is not built</h1><p>The server is up. This checkout has no build of its console yet: run</p>
<pre><code>npm run build -w @orgate/console</code></pre>
<p>in it, which takes some seconds, and load this page again. What the API offers is at <a href="/docs">/docs</a>.</p></main></body></html>
`,
};
