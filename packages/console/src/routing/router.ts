/**
 * Addresses of the console. Everything on screen has one, so that it can be sent to somebody.
 * A pattern names its parts (`/sessions/{session}`); a path that matches no pattern is reported as such, and no part of a path becomes markup.
 */
import { cell, useCell } from "../state/cell.ts";

export type Location = Readonly<{ path: string; query: string }>;
export type Params = Readonly<Record<string, string>>;

const read = (): Location => ({ path: location.pathname, query: location.search });
const place = cell<Location>(typeof location === "undefined" ? { path: "/", query: "" } : read());
if (typeof window !== "undefined") window.addEventListener("popstate", () => place.set(read()));

export const useLocation = (): Location => useCell(place);

export function navigate(to: string, { replace = false }: Readonly<{ replace?: boolean }> = {}): void {
  const url = new URL(to, location.origin);
  if (url.origin !== location.origin) return;
  const path = url.pathname + url.search + url.hash;
  if (replace) history.replaceState(null, "", path);
  else if (path !== location.pathname + location.search) history.pushState(null, "", path);
  place.set(read());
}

/** Changes parts of the query in place; null removes one. */
export function setQuery(changes: Readonly<Record<string, string | null>>): void {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  navigate(`${location.pathname}${text === "" ? "" : `?${text}`}`, { replace: true });
}

/** The parts of a path by name, or null if it does not match. */
export function matchPath(pattern: string, path: string): Params | null {
  const wanted = pattern.split("/");
  const given = path.replace(/(?<=.)\/$/, "").split("/");
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const text = given[i] ?? "";
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined) {
      if (part !== text) return null;
      continue;
    }
    const value = decoded(text);
    if (value === null || value === "") return null;
    params[name] = value;
  }
  return params;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** A path from its parts, each written so that it stays one part. */
export const pathTo = (pattern: string, params: Params): string =>
  pattern.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
