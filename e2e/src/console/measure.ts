/**
 * Opening a session of ten thousand entries, and scrolling through it, timed by the browser itself: `node e2e/src/console/measure.ts ROUNDS`, told as JSON.
 * `bench/` starts this and reports it: the browser and the server that it needs are here.
 */
import { openBrowser } from "./browser.ts";
import { openDesk } from "./desk.ts";
import { enter, go } from "./kit.ts";
import { makePast } from "./watching.ts";

const rounds = Number(process.argv[2] ?? "5");
const desk = await openDesk();
const browser = await openBrowser();
const opened: number[] = [];
const whole: number[] = [];
const tasks: number[] = [];
const scrolling: number[] = [];
let nodes = 0;

/** In the page: tasks of more than 50 ms are told by the browser. */
const WATCH = `window.__tasks = []; new PerformanceObserver((list) => { for (const one of list.getEntries()) window.__tasks.push(one.duration); }).observe({ type: "longtask", buffered: false });`;
/** From the click to the first entry on the page, and to the last one in it. */
const timed = (session: string): string => `new Promise((done) => {
  const link = document.querySelector('a[href="/sessions/${session}"]');
  window.__tasks.length = 0;
  const from = performance.now();
  let first = 0;
  const look = () => {
    const count = / of (\\d+)$/.exec(document.querySelector("main .figures")?.textContent ?? "")?.[1] ?? "0";
    if (first === 0 && document.querySelector("[aria-label=Entries] button") !== null) first = performance.now() - from;
    if (Number(count) >= 10000) done({ first, whole: performance.now() - from, tasks: [...window.__tasks] });
    else requestAnimationFrame(look);
  };
  link.click();
  look();
})`;
const SCROLL = `new Promise((done) => {
  const box = document.querySelector("[aria-label=Entries]");
  window.__tasks.length = 0;
  let i = 0;
  const step = () => {
    box.scrollTop += i < 200 ? 120 : 9000;
    i += 1;
    if (i < 240) requestAnimationFrame(step);
    else setTimeout(() => done([...window.__tasks]), 200);
  };
  box.scrollTop = 0;
  requestAnimationFrame(step);
})`;

try {
  const session = makePast(desk, 10_000);
  const ana = await enter(browser, desk, "ana");
  for (let i = 0; i < rounds; i += 1) {
    await go(ana, desk, "/sessions?agent=billing");
    await ana.page.locator(`a[href="/sessions/${session}"]`).waitFor();
    await ana.page.evaluate(WATCH);
    const came = await ana.page.evaluate<{ first: number; whole: number; tasks: number[] }>(timed(session));
    opened.push(came.first);
    whole.push(came.whole);
    tasks.push(Math.max(0, ...came.tasks));
    scrolling.push(Math.max(0, ...(await ana.page.evaluate<number[]>(SCROLL))));
    nodes = Math.max(nodes, await ana.page.evaluate<number>("document.querySelectorAll('*').length"));
  }
  console.log(JSON.stringify({ opened, whole, tasks, scrolling, nodes }));
} finally {
  await browser.close();
  await desk.close();
}
