/**
 * The console in a real browser against the real server. `console`: the daily work of operators. `console-watch`: the screens they watch with, over a journal
 * with a past. The cases of a suite share one server and one browser, and each makes what it needs.
 */
import type { Browser } from "playwright-core";
import type { Violation } from "../checks.ts";
import type { Suite } from "../suite.ts";
import { openBrowser } from "./browser.ts";
import { APPROVALS } from "./cases/approvals.ts";
import type { WatchWorld, World } from "./cases/case.ts";
import { CONVERSATION } from "./cases/conversation.ts";
import { FINDING } from "./cases/finding.ts";
import { FLEET } from "./cases/fleet.ts";
import { POLICIES } from "./cases/policies.ts";
import { RECORDS } from "./cases/records.ts";
import { SCREENS } from "./cases/screens.ts";
import { SESSIONS } from "./cases/sessions.ts";
import { TROUBLES } from "./cases/troubles.ts";
import { DESKTOP, type Person, signIn, withPageText } from "./kit.ts";
import { execute, makePast } from "./seed.ts";
import { type ConsoleServer, startConsoleServer } from "./server.ts";

type Cases<W> = readonly Readonly<{ name: string; run(world: W): Promise<readonly Violation[]> }>[];

/** A case that takes longer than this is named in the log. */
const SLOW_MS = 12_000;

export const consoleFlows = consoleSuite<World>(
  "console",
  [...CONVERSATION, ...APPROVALS, ...SCREENS, ...FINDING, ...TROUBLES],
  async (browser, server) => {
    const ana = await signIn(browser, server, "ana");
    return { world: { browser, server, ana }, people: [ana] };
  },
);

export const consoleWatch = consoleSuite<WatchWorld>(
  "console-watch",
  [...SESSIONS, ...FLEET, ...POLICIES, ...RECORDS],
  async (browser, server) => {
    const long = makePast(server, 10_000);
    const ana = await signIn(browser, server, "ana");
    const phone = await signIn(browser, server, "ana", { phone: true, scheme: "dark" });
    const hostile = (await execute(ana, server, { agent: "stage", input: "show me something hostile" })).session;
    return { world: { browser, server, ana, phone, long, hostile }, people: [ana, phone] };
  },
);

type Opened<W> = Readonly<{ world: W; people: readonly Person[] }>;

function consoleSuite<W extends World>(
  name: string,
  cases: Cases<W>,
  open: (browser: Browser, server: ConsoleServer) => Promise<Opened<W>>,
): Suite {
  return {
    name,
    async run({ judge, say }) {
      const from = performance.now();
      const server = await startConsoleServer();
      const browser = await openBrowser();
      try {
        const { world, people } = await open(browser, server);
        for (const one of cases) {
          const began = performance.now();
          await judge(one.name, () => withPageText(world.ana, () => one.run(world)));
          for (const { page, errors } of people) {
            await page.unrouteAll(); // a case that failed midway leaves nothing to the next one
            errors(); // each case reports its own
          }
          await world.ana.page.setViewportSize(DESKTOP);
          if (performance.now() - began > SLOW_MS) say(`${one.name} took ${Math.round((performance.now() - began) / 100) / 10} s`);
        }
      } finally {
        await browser.close();
        await server.close();
        say(`${cases.length} cases in ${Math.round((performance.now() - from) / 1_000)} s`);
      }
    },
  };
}
