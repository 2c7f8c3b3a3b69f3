/** Signing in at MCP servers that want OAuth: a page in a browser, and an address of this machine that it comes back to. */
import { createServer } from "node:http";
import { FaultError } from "@orgate/core";
import { EXIT, type RunCommand, visible } from "@orgate/shell/terminal";
import { openSignIns } from "../../../mcp/auth.ts";
import { type McpServer, resolveLaunch } from "../../../mcp/config.ts";
import { signInAt } from "../../../mcp/library.ts";
import { orgateHome } from "../../../store/keyring.ts";
import { tell } from "../project/project.ts";
import { usableServer } from "./mcp.ts";

const PATIENCE_MS = 5 * 60_000;
const PAGE = "<!doctype html><title>Orgate</title><p>You can close this page.";

export const login: RunCommand = async (given, screen) => {
  const server = await usableServer(given);
  const port = server.transport.kind === "http" && server.transport.auth.grant === "person" ? server.transport.auth.port : 0;
  const back = await listen(port);
  try {
    const show = (url: URL): Promise<URLSearchParams> => {
      tell(given, screen, `sign in here: ${url.href}`);
      return back.came;
    };
    await signInAt(server, given.env, {
      home: orgateHome(given.env),
      redirectUrl: `http://127.0.0.1:${back.port}/callback`,
      authorize: show,
    });
  } finally {
    back.close();
  }
  if (given.json) screen.line(JSON.stringify({ server: server.name, signedIn: true }));
  else screen.line(`signed in at ${visible(server.name)}`);
  return EXIT.success;
};

export const logout: RunCommand = async (given, screen) => {
  const server: McpServer = await usableServer(given);
  const launch = resolveLaunch(server, given.env);
  const url = typeof launch !== "string" && launch.transport.kind === "http" ? launch.transport.url : null;
  if (url === null) throw new FaultError({ kind: "usage", detail: `nobody signs in at \`${server.name}\``, hint: "it is started here" });
  openSignIns(orgateHome(given.env), server.name, url).forget();
  if (given.json) screen.line(JSON.stringify({ server: server.name, signedIn: false }));
  else screen.line(`what signed you in at ${visible(server.name)} is forgotten here; its server may still know it`);
  return EXIT.success;
};

type Back = Readonly<{ port: number; came: Promise<URLSearchParams>; close(): void }>;

/** On this machine alone, for one answer. */
async function listen(port: number): Promise<Back> {
  const came = Promise.withResolvers<URLSearchParams>();
  const late = setTimeout(() => came.reject(new Error("nobody came back from the sign-in in five minutes")), PATIENCE_MS).unref();
  came.promise.catch(() => {});
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const isBack = url.pathname === "/callback" && request.method === "GET";
    response.writeHead(isBack ? 200 : 404, { "content-type": "text/html; charset=utf-8", connection: "close" }).end(isBack ? PAGE : "");
    if (isBack) came.resolve(url.searchParams);
  });
  await new Promise<void>((resolve, reject) => {
    server.on("error", reject).listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  const close = (): void => {
    clearTimeout(late);
    server.close();
    server.closeAllConnections();
  };
  return { port: typeof address === "object" && address !== null ? address.port : port, came: came.promise, close };
}
