/** What every test of the console shares: a person at a page, and what a page must not have. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { Browser, BrowserContext, Page, Request } from "playwright-core";
import type { ConsoleDesk, Operator } from "./desk.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const MISFITS = readFileSync(join(import.meta.dirname, "misfits.js"), "utf8");
const STILL = readFileSync(join(import.meta.dirname, "still.js"), "utf8");
const REACH = readFileSync(join(import.meta.dirname, "reach.js"), "utf8");
export const DESKTOP = { width: 1280, height: 800 } as const;
export const PHONE = { width: 390, height: 844 } as const;

export type Person = Readonly<{
  page: Page;
  context: BrowserContext;
  /** What the page has said to its console since it was asked last, beside what is expected of a server that is away. */
  errors(): readonly string[];
  /** What the page has asked for and has no answer to yet. */
  asked: ReadonlySet<Request>;
  /** How often it has asked so far. */
  begun(): number;
}>;

/** `actions`: signed in to do these alone. */
export type Look = Readonly<{ phone?: boolean; scheme?: "light" | "dark"; actions?: string }>;

/** A lost server is told by the browser itself, in words of its own. */
const EXPECTED = /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|WebSocket connection to|ERR_EMPTY_RESPONSE|ERR_NETWORK/;

export async function enter(
  browser: Browser,
  desk: ConsoleDesk,
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
    if (["error", "warning"].includes(message.type()) && !EXPECTED.test(message.text())) found.push(`${message.type()}: ${message.text()}`);
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
      asked.clear(); // what the page before it had asked for is nobody's any more
    else asked.add(request);
    if (url.origin !== desk.url() && url.protocol !== "blob:") found.push(`asks for ${request.url()}`);
  });
  await page.goto(await desk.link(who, actions));
  await page.getByRole("navigation", { name: "Screens" }).first().waitFor();
  return { page, context, errors: () => found.splice(0), asked, begun: () => begun };
}

/**
 * As long as somebody waits before they look: until nothing that was asked for is on its way, nothing says that it is loading, and what came has been drawn
 * with its keys and its focus. A machine that is busy takes longer for it, so no test may look earlier.
 */
export async function settled({ page, asked, begun }: Person): Promise<void> {
  const until = Date.now() + 15_000;
  for (;;) {
    const [before, wasQuiet] = [begun(), asked.size === 0]; // what one answer brings about is asked for after it was drawn
    const isLoading = await page.evaluate<boolean>(DRAWN);
    if (wasQuiet && !isLoading && asked.size === 0 && begun() === before) return;
    if (Date.now() > until)
      throw new Error(`never at rest: ${isLoading ? "it says that it is loading; " : ""}${[...asked].map((one) => one.url()).join(", ")}`);
  }
}
/** Two pictures later, and whatever React does after them; true while something says that it is loading. */
const DRAWN = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() =>
  done([...document.querySelectorAll("main [role=status], [role=dialog] [role=status]")].some((one) => /\\w…$/.test(one.textContent.trim())))))))`;

/** What `read` tells once it is as it is wanted, or else what it tells in the end: what a person would see who waits for it. */
export async function comesTo<T>(read: () => Promise<T>, isWanted: (now: T) => boolean): Promise<T> {
  const until = Date.now() + 15_000;
  for (;;) {
    const now = await read();
    if (isWanted(now) || Date.now() > until) return now;
  }
}

/** There, and at rest: what is clicked while things still come may not be where it was. */
export const go = async (person: Person, desk: ConsoleDesk, path: string): Promise<void> => {
  await person.page.goto(`${desk.url()}${path}`);
  await person.page.locator("main h1").first().waitFor();
  await settled(person);
};

/** One case; when it breaks off, what was on the page then is told too. */
export const told = ({ page }: Person, run: () => Promise<readonly string[]>): Promise<readonly string[]> =>
  run().catch(async (error: unknown) => [
    error instanceof Error ? error.message : String(error),
    `at ${page.url()}: ${(await page.locator("body").innerText()).replaceAll(/\s+/g, " ").slice(0, 1_200)}`,
  ]);

type Violation = Readonly<{ id: string; impact: string | null; nodes: readonly Readonly<{ html: string; failureSummary: string }>[] }>;

/** WCAG 2.2 A and AA, and what axe takes to be best. The engine is put in as the browser's own, past the content policy of the page. */
export async function axe({ page }: Person): Promise<readonly string[]> {
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
 * O-10 nothing is wider than the window, and no text is cut off where nobody can scroll to it. Runs in the page, which knows its boxes.
 * O-3 no character that hides is there as itself, in a text, a name or a field. Nothing moves for whoever wants no motion.
 */
export async function misfits(person: Person): Promise<readonly string[]> {
  await settled(person);
  return person.page.evaluate<readonly string[]>(MISFITS);
}

/** What has the focus once it has come to `wanted`, or else where it stays: by its name in a form, or by what it says. */
export const focused = ({ page }: Person, wanted: string): Promise<string> =>
  comesTo(
    () => page.evaluate<string>("document.activeElement.name || document.activeElement.textContent"),
    (now) => now === wanted,
  );

/** As if one had clicked beside everything: after a field that takes the focus when it comes has come. */
export async function blur(person: Person): Promise<void> {
  await settled(person);
  await person.page.evaluate("document.activeElement?.blur()");
}

/** Two keys in a row, as quickly as a hand does it. */
export const chord = ({ page }: Person, first: string, second: string): Promise<unknown> =>
  Promise.all([page.keyboard.press(first), page.keyboard.press(second)]);

/**
 * O-10 Tab comes to everything that can be used, and leaves it again; what it has come to is seen to be focused, lies under nothing, and can be hit. Only
 * rows of long lists may be left out.
 */
export async function reached(person: Person, what: string): Promise<readonly string[]> {
  const { page } = person;
  await settled(person);
  await page.evaluate(`${REACH}; undefined`);
  const count = await page.evaluate<number>("reach.begin()");
  // A list shows more of its rows as one goes through it: once around may take longer than what was there at first.
  for (let round = 0; round < 8 && (round === 0 || (await page.evaluate<boolean>("reach.isLeft()"))); round += 1)
    await Promise.all(Array.from({ length: count + 12 }, () => page.keyboard.press("Tab")));
  const found = await page.evaluate<readonly string[]>("reach.end()");
  return found.map((one) => `${what}: ${one}`);
}

/**
 * What is looked at stays where it is while `turn` goes on: the field always, and what somebody has scrolled up to; what is read at the end only goes
 * up. `isAway`: scrolled up to the first that was said.
 */
export async function still({ page }: Person, what: string, isAway: boolean, turn: () => Promise<unknown>): Promise<readonly string[]> {
  await page.evaluate(STILL);
  await page.evaluate(`still.begin(${isAway})`);
  await turn();
  const found = await page.evaluate<readonly string[]>("still.end()");
  return found.map((one) => `${what}: ${one}`);
}

/** Everything that must hold of whatever is on screen. */
export async function sound(person: Person, what: string): Promise<readonly string[]> {
  await settled(person);
  return [...(await axe(person)), ...(await misfits(person)), ...person.errors()].map((found) => `${what}: ${found}`);
}
