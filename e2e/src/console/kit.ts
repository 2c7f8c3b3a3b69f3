/** Shared by all tests of the console: a person at a page, and checks of the page. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import type { ConsoleServer, Operator } from "./server.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const MISFITS = readFileSync(join(import.meta.dirname, "misfits.js"), "utf8");
const STILL = readFileSync(join(import.meta.dirname, "still.js"), "utf8");
const REACH = readFileSync(join(import.meta.dirname, "reach.js"), "utf8");
export const DESKTOP = { width: 1280, height: 800 } as const;
export const PHONE = { width: 390, height: 844 } as const;

export type Person = Readonly<{
  page: Page;
  context: BrowserContext;
  /** Errors and warnings in the browser's console since the last call, without those expected when a server is down. */
  errors(): readonly string[];
  /** Requests of the page that are not answered yet. */
  asked: ReadonlySet<Request>;
  /** The number of requests so far. */
  begun(): number;
}>;

/** `actions`: the sign-in is restricted to these. */
export type Look = Readonly<{ phone?: boolean; scheme?: "light" | "dark"; actions?: string }>;

/** Messages of the browser itself about a lost server. */
const EXPECTED = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|WebSocket connection to|ERR_EMPTY_RESPONSE|ERR_NETWORK/;

export async function signIn(
  browser: Browser,
  server: ConsoleServer,
  who: Operator,
  { phone = false, scheme = "light", actions }: Look = {},
): Promise<Person> {
  const context = await browser.newContext({
    viewport: phone ? PHONE : DESKTOP,
    colorScheme: scheme,
    reducedMotion: "reduce",
    bypassCSP: false,
    ...(phone ? { isMobile: true, hasTouch: true } : {}),
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const found: string[] = [];
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type()) || EXPECTED.test(message.text())) return;
    const { url } = message.location(); // the browser's own line about a refused request does not name it
    found.push(`${message.type()}: ${message.text()}${url === "" ? "" : ` (${url})`}`);
  });
  page.on("pageerror", (error) => found.push(`thrown: ${error.message}`));
  const asked = new Set<Request>();
  let begun = 0;
  page.on("requestfinished", (request) => asked.delete(request));
  page.on("requestfailed", (request) => asked.delete(request));
  page.on("request", (request) => {
    const url = new URL(request.url());
    begun += 1;
    if (request.isNavigationRequest())
      asked.clear(); // requests of the previous page no longer matter
    else asked.add(request);
    if (url.origin !== server.url() && url.protocol !== "blob:") found.push(`asks for ${request.url()}`);
  });
  await page.goto(await server.link(who, actions));
  await page.getByRole("navigation", { name: "Screens" }).first().waitFor();
  return { page, context, errors: () => found.splice(0), asked, begun: () => begun };
}

/**
 * Waits until no request is open, nothing says that it is loading, and everything is drawn with its keys and its focus. A busy machine takes longer, so no
 * test may look earlier.
 */
export async function waitUntilSettled({ page, asked, begun }: Person): Promise<void> {
  const until = Date.now() + 15_000;
  for (;;) {
    const [before, wasQuiet] = [begun(), asked.size === 0]; // an answer may cause further requests once it is drawn
    const isLoading = await page.evaluate<boolean>(DRAWN);
    if (wasQuiet && !isLoading && asked.size === 0 && begun() === before) return;
    if (Date.now() > until)
      throw new Error(`never at rest: ${isLoading ? "it says that it is loading; " : ""}${[...asked].map((one) => one.url()).join(", ")}`);
  }
}
/** Waits for two frames and React's work after them; true while something says that it is loading. */
const DRAWN = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() =>
  done([...document.querySelectorAll("main [role=status], [role=dialog] [role=status]")].some((one) => /\\w…$/.test(one.textContent.trim())))))))`;

/** Reads until the value is as wanted, or the time is up; returns the last value. */
export async function pollUntil<T>(read: () => Promise<T>, isWanted: (now: T) => boolean): Promise<T> {
  const until = Date.now() + 15_000;
  for (;;) {
    const now = await read();
    if (isWanted(now) || Date.now() > until) return now;
  }
}

/** Opens a page and waits until it has settled: an element that is clicked earlier may still move. */
export const openPage = async (person: Person, server: ConsoleServer, path: string): Promise<void> => {
  await person.page.goto(`${server.url()}${path}`);
  await person.page.locator("main h1").first().waitFor();
  await waitUntilSettled(person);
};

/** Runs a case; if it throws, the violation includes the text of the page. */
export const withPageText = ({ page }: Person, run: () => Promise<readonly string[]>): Promise<readonly string[]> =>
  run().catch(async (error: unknown) => [
    error instanceof Error ? error.message : String(error),
    `at ${page.url()}: ${(await page.locator("body").innerText()).replaceAll(/\s+/g, " ").slice(0, 1_200)}`,
  ]);

type Violation = Readonly<{ id: string; impact: string | null; nodes: readonly Readonly<{ html: string; failureSummary: string }>[] }>;

/** WCAG 2.2 A and AA, and axe's best practices. The engine is injected by the browser, past the page's content policy. */
export async function runAxe({ page }: Person): Promise<readonly string[]> {
  await page.evaluate(`${AXE}; undefined`);
  const violations = await page.evaluate<readonly Violation[]>(
    "axe.run(document, { runOnly: ['wcag2a','wcag2aa','wcag21a','wcag21aa','wcag22aa','best-practice'] }).then((r) => r.violations.map((v) => ({ id: v.id, impact: v.impact, nodes: v.nodes.map((n) => ({ html: n.html, failureSummary: n.failureSummary })) })))",
  );
  return violations.map(
    ({ id, nodes }) =>
      `axe ${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary.replaceAll("\n", " ").slice(0, 200)}`).join(" | ")}`,
  );
}

/**
 * O-10 nothing is wider than the window, and no text is cut off without a way to scroll to it. Runs in the page.
 * O-3 no hidden character appears unescaped in a text, a name or a field. Nothing moves if the person prefers reduced motion.
 */
export async function findMisfits(person: Person): Promise<readonly string[]> {
  await waitUntilSettled(person);
  return person.page.evaluate<readonly string[]>(MISFITS);
}

/** Waits until `wanted` has the focus; returns the name or text of the focused element. */
export const waitForFocus = ({ page }: Person, wanted: string): Promise<string> =>
  pollUntil(
    () => page.evaluate<string>("document.activeElement.name || document.activeElement.textContent"),
    (now) => now === wanted,
  );

/** Removes the focus, after the page has settled: some fields take the focus when they appear. */
export async function blur(person: Person): Promise<void> {
  await waitUntilSettled(person);
  await person.page.evaluate("document.activeElement?.blur()");
}

/** Presses two keys in a row, as fast as a hand does. */
export const pressKeys = ({ page }: Person, first: string, second: string): Promise<unknown> =>
  Promise.all([page.keyboard.press(first), page.keyboard.press(second)]);

/**
 * O-10 Tab reaches every control and leaves it again; a focused control shows it, is not covered, and is large enough to hit. Only rows of long lists may be
 * left out.
 */
export async function checkKeyboard(person: Person, what: string): Promise<readonly string[]> {
  const { page } = person;
  await waitUntilSettled(person);
  await page.evaluate(`${REACH}; undefined`);
  const count = await page.evaluate<number>("reach.begin()");
  // A list shows more rows while Tab moves through it, so one round may need more steps than there were controls at first.
  for (let round = 0; round < 8 && (round === 0 || (await page.evaluate<boolean>("reach.isLeft()"))); round += 1)
    await Promise.all(Array.from({ length: count + 12 }, () => page.keyboard.press("Tab")));
  const found = await page.evaluate<readonly string[]>("reach.end()");
  return found.map((one) => `${what}: ${one}`);
}

/**
 * The message field and a row that somebody scrolled up to do not move while `turn` runs; rows at the end only move up. `isAway`: scrolled up to the first
 * message.
 */
export async function checkStill(
  { page }: Person,
  what: string,
  isAway: boolean,
  turn: () => Promise<unknown>,
): Promise<readonly string[]> {
  await page.evaluate(STILL);
  await page.evaluate(`still.begin(${isAway})`);
  await turn();
  const found = await page.evaluate<readonly string[]>("still.end()");
  return found.map((one) => `${what}: ${one}`);
}

/** All checks that every page must pass. */
export async function checkPage(person: Person, what: string): Promise<readonly string[]> {
  await waitUntilSettled(person);
  return [...(await runAxe(person)), ...(await findMisfits(person)), ...person.errors()].map((found) => `${what}: ${found}`);
}
