/**
 * The local server of a shell: in this process, on a free port of this machine, for one person with a key that is only in memory.
 * Rule: S-2.
 */

import { randomBytes, timingSafeEqual } from "node:crypto";
import type { AskHidden, Given, Screen } from "@orgate/shell/terminal";
import { shorten, visible } from "@orgate/shell/terminal";
import { findCaller, openGivenProject } from "../cli/commands/project/project.ts";
import { openServing } from "../cli/commands/project/serving.ts";
import type { Log } from "../operations/logs.ts";
import { loadRunnableProject } from "../project/load.ts";
import type { Identity } from "../server/identity/auth.ts";
import type { Access, IncomingRequest } from "../server/identity/authentication.ts";

export type LocalServer = Readonly<{ url: string; token: string; name: string; close(): Promise<void> }>;

export async function startLocalServer(given: Given, screen: Screen, ask: AskHidden): Promise<LocalServer> {
  const config = { ...openGivenProject(given), allowShell: given.flag("allow-shell") };
  const loaded = await loadRunnableProject(config, { env: given.env, surface: "shell", ask });
  const token = randomBytes(32).toString("base64url");
  const log = logAside(screen.aside);
  const served = await openServing(given, screen, {
    loaded,
    person: findCaller(given, screen),
    declared: null,
    host: "127.0.0.1",
    port: 0,
    log,
    access: (identity, { name }) => withOwnKey(identity, name, token),
  });
  return {
    url: served.at.url,
    token,
    name: config.name,
    async close() {
      // a turn in progress is parked, and goes on at the next start: nobody is here to see its end
      const landed = await served.at.leave({ finishMs: 0, landMs: 2_000, answersMs: 200 });
      await (landed ? served.close() : served.letGo());
    },
  };
}

const MOST_SAID = 500;
/** S-22 errors of a local server appear beside the conversation, in one line for a person: what happened, why, and where. */
export const logAside =
  (say: (line: string) => void): Log =>
  (level, what, { error = "", ...about } = {}) => {
    if (level !== "error") return;
    const known = Object.entries(about).flatMap(([name, value]) => (value === null || value === "" ? [] : [`${name} ${value}`]));
    const why = error === null || error === "" ? "" : `: ${error}`;
    say(`✗ ${shorten(visible(`${what}${why}${known.length === 0 ? "" : ` (${known.join(", ")})`}`), MOST_SAID)}`);
  };

/** Beside what the project's identities let in. */
export async function withOwnKey(identity: Identity, person: string, token: string): Promise<Access> {
  const expected = Buffer.from(`Bearer ${token}`);
  const caller = await identity.operator(person);
  const isOwn = ({ headers }: IncomingRequest): boolean => {
    const shown = Buffer.from(headers.authorization ?? "");
    return shown.length === expected.length && timingSafeEqual(shown, expected);
  };
  return {
    authenticate: async (asking) => (isOwn(asking) ? caller : identity.authenticate(asking)),
    mayDo: identity.mayDo,
    watch: identity.watch,
  };
}
