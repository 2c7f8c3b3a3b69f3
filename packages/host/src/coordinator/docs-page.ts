/** `/docs`: the one table of routes as a page. No script, nothing from elsewhere. */
import { createHash } from "node:crypto";
import { API, ROUTE_NAMES, ROUTES, type Route } from "@orgate/core/wire";
import type { Page } from "./server.ts";

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}" +
  "code{font:14px ui-monospace,monospace}table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #ddd}" +
  "th{font-weight:600}@media (prefers-color-scheme:dark){body{color:#e6e6ea;background:#17171a}td,th{border-color:#333}a{color:#9ab8ff}}";

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

export function docsPage(version: string): Page {
  const hash = createHash("sha256").update(STYLE).digest("base64");
  const headers = { "content-security-policy": `default-src 'none'; style-src 'sha256-${hash}'; frame-ancestors 'none'; base-uri 'none'` };
  const text = pageText(version);
  return {
    ways: ["GET /docs"],
    answer: async ({ method, path }) =>
      method === "GET" && path === "/docs"
        ? { status: 200, answer: { kind: "text", mediaType: "text/html; charset=utf-8", text, headers } }
        : null,
  };
}

function pageText(version: string): string {
  const routes = ROUTE_NAMES.map((name) => ({ name, route: ROUTES[name] as Route }));
  const tags = [...new Set(routes.map(({ route }) => route.tag))];
  const sections = tags.map((tag) => {
    const rows = routes.filter(({ route }) => route.tag === tag).map(({ route }) => row(route));
    return `<h2>${escaped(tag)}</h2><table><thead><tr><th>route</th><th>what it does</th><th>decided as</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
  });
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Orgate API</title><style>${STYLE}</style></head><body><h1>Orgate API ${escaped(version)}</h1><p>Every read and write is decided by the policies on the caller. Errors are problems of RFC 9457. The same as <a href="${API}/openapi.json">OpenAPI 3.1</a>. Live: <code>/ws/v1</code>.</p>${sections.join("")}</body></html>`;
}

function row({ method, path, says, act, idempotencyKey }: Route): string {
  const decided = typeof act === "string" ? (act === "open" ? "for anybody" : "for whoever is signed in") : `${act.kind} (${act.on})`;
  const key = idempotencyKey ? " Needs <code>Idempotency-Key</code>." : "";
  return `<tr><td><code>${method} ${escaped(`${API}${path}`)}</code></td><td>${escaped(says)}${key}</td><td>${escaped(decided)}</td></tr>`;
}
