/**
 * Opening a session of ten thousand entries, and scrolling through it, timed by the browser itself: `node e2e/src/console/measure.ts ROUNDS` prints JSON.
 * `bench/` starts this and reports it: the browser and the server that it needs are here.
 */
import type { Browser, Page } from "playwright-core";
import * as z from "zod";
import { openBrowser } from "./browser.ts";
import { openPage, signIn } from "./kit.ts";
import { makePast } from "./seed.ts";
import { startConsoleServer } from "./server.ts";

const rounds = Number(process.argv[2] ?? "5");
const server = await startConsoleServer();
const browser = await openBrowser();
const opened: number[] = [];
const whole: number[] = [];
const opening: Longest[] = [];
const scrolling: Longest[] = [];
let nodes = 0;

const traced = z.object({
  traceEvents: z.array(
    z.looseObject({
      name: z.string(),
      pid: z.number(),
      tid: z.number(),
      dur: z.number().optional(),
      tdur: z.number().optional(),
      args: z.unknown(),
    }),
  ),
});
type Longest = Readonly<{ wall: number; cpu: number }>;

/** By the browser's own trace: the longest task of the page's main thread while something is done, by the clock and by the processor. */
async function longest(browser: Browser, page: Page, doing: () => Promise<unknown>): Promise<Longest> {
  await browser.startTracing(page, { categories: ["toplevel", "__metadata", "disabled-by-default-devtools.timeline"] });
  await doing();
  const { traceEvents } = traced.parse(JSON.parse((await browser.stopTracing()).toString("utf8")));
  const mains = new Set(
    traceEvents.flatMap(({ name, pid, tid, args }) =>
      name === "thread_name" && JSON.stringify(args).includes("CrRendererMain") ? [`${pid} ${tid}`] : [],
    ),
  );
  const tasks = traceEvents.filter(({ name, pid, tid }) => name.endsWith("RunTask") && mains.has(`${pid} ${tid}`));
  const most = (of: (task: (typeof tasks)[number]) => number | undefined): number =>
    Math.max(0, ...tasks.map((task) => of(task) ?? 0)) / 1_000;
  return { wall: most(({ dur }) => dur), cpu: most(({ tdur }) => tdur) };
}

/** From the click to the first entry on the page, and to the last one in it. */
const timed = (session: string): string => `new Promise((done) => {
  const link = document.querySelector('a[href="/sessions/${session}"]');
  const from = performance.now();
  let first = 0;
  const look = () => {
    const count = / of (\\d+)$/.exec(document.querySelector("main .figures")?.textContent ?? "")?.[1] ?? "0";
    if (first === 0 && document.querySelector("[aria-label=Entries] button") !== null) first = performance.now() - from;
    if (Number(count) >= 10000) done({ first, whole: performance.now() - from });
    else requestAnimationFrame(look);
  };
  link.click();
  look();
})`;
const SCROLL = `new Promise((done) => {
  const box = document.querySelector("[aria-label=Entries]");
  let i = 0;
  const step = () => {
    box.scrollTop += i < 200 ? 120 : 9000;
    i += 1;
    if (i < 240) requestAnimationFrame(step);
    else setTimeout(done, 200);
  };
  box.scrollTop = 0;
  requestAnimationFrame(step);
})`;

try {
  const session = makePast(server, 10_000);
  const ana = await signIn(browser, server, "ana");
  for (let i = 0; i < rounds; i += 1) {
    await openPage(ana, server, "/sessions?agent=billing");
    await ana.page.locator(`a[href="/sessions/${session}"]`).waitFor();
    opening.push(
      await longest(browser, ana.page, async () => {
        const came = await ana.page.evaluate<{ first: number; whole: number }>(timed(session));
        opened.push(came.first);
        whole.push(came.whole);
      }),
    );
    scrolling.push(await longest(browser, ana.page, () => ana.page.evaluate(SCROLL)));
    nodes = Math.max(nodes, await ana.page.evaluate<number>("document.querySelectorAll('*').length"));
  }
  console.log(JSON.stringify({ opened, whole, opening, scrolling, nodes }));
} finally {
  await browser.close();
  await server.close();
}
