/** `/docs`: the one table of routes as a page. No script, nothing from elsewhere. */
import { API, OPERATION_NAMES, OPERATIONS, type Operation } from "@orgate/protocol";
import { renderPage, STYLE, toCspSource } from "./page-style.ts";
import type { ServedPage } from "./server.ts";

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
const shown = (text: string): string => escaped(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>");

export function docsPage(version: string): ServedPage {
  const headers = {
    "content-security-policy": `default-src 'none'; style-src ${toCspSource(STYLE)}; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
  };
  const text = docsText(version);
  return {
    ways: ["GET /docs"],
    answer: async ({ method, path }) =>
      method === "GET" && path === "/docs"
        ? { status: 200, answer: { kind: "text", mediaType: "text/html; charset=utf-8", text, headers } }
        : null,
  };
}

function docsText(version: string): string {
  const routes = OPERATION_NAMES.map((name) => ({ name, route: OPERATIONS[name] as Operation }));
  const tags = [...new Set(routes.map(({ route }) => route.tag))];
  const sections = tags.map((tag) => {
    const rows = routes.filter(({ route }) => route.tag === tag).map(({ route }) => row(route));
    return `<h2>${escaped(tag)}</h2><table><thead><tr><th>route</th><th>what it does</th><th>decided as</th></tr></thead><tbody>${rows.join("")}</tbody></table>`;
  });
  const about = `<p>Every read and write is decided by the policies on the caller. Errors are problems of RFC 9457. The same as <a href="${API}/openapi.json">OpenAPI 3.1</a>. Live: <code>/ws/v1</code>, for existing chat clients <code>/ws/chat</code>. <a href="/sign-in">Sign in</a></p>`;
  return renderPage("Orgate API", `<main><h1>Orgate API ${escaped(version)}</h1>${about}${sections.join("")}</main>`);
}

function row({ method, path, summary, act, idempotencyKey }: Operation): string {
  const decided = typeof act === "string" ? (act === "open" ? "for anybody" : "for any signed-in caller") : `${act.kind} (${act.on})`;
  const key = idempotencyKey ? " Needs <code>Idempotency-Key</code>." : "";
  return `<tr><td><code>${method} ${escaped(`${API}${path}`)}</code></td><td>${shown(summary)}${key}</td><td>${escaped(decided)}</td></tr>`;
}
