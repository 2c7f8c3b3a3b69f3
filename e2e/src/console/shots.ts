/**
 * `npm run shots`: every screen, light and dark, on a desktop and on a phone, with something to show, empty, failing, and with more than 10,000 entries.
 * It fails on anything wider than the window, text that is cut off, or an error in the browser's console. `--only TEXT` takes the screens whose name holds it (several with commas between),
 * `--state normal`, `--out DIR`; `--keep` puts the chosen ones into docs/assets/console.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Browser } from "playwright-core";
import { openBrowser } from "./browser.ts";
import { findMisfits, openPage, type Person, signIn } from "./kit.ts";
import { makePast, type Seed, seedLongSession, seedProject } from "./seed.ts";
import { type ConsoleServer, startConsoleServer } from "./server.ts";
import { SHOTS, type Shot } from "./shots-table.ts";

const STATES = ["normal", "empty", "failing", "many"] as const;
type State = (typeof STATES)[number];
const LOOKS = [
  { name: "desktop-light", phone: false, scheme: "light" },
  { name: "desktop-dark", phone: false, scheme: "dark" },
  { name: "phone-light", phone: true, scheme: "light" },
  { name: "phone-dark", phone: true, scheme: "dark" },
] as const;
/** The pictures that are kept in the repository. */
const KEPT: readonly string[] = [
  "chat-normal-desktop-light",
  "chat-question-normal-desktop-dark",
  "approvals-normal-desktop-light",
  "approval-normal-phone-light",
  "approval-normal-phone-dark",
  "chat-many-desktop-dark",
  "chat-hostile-normal-desktop-light",
  "guide-empty-desktop-light",
  "approvals-empty-phone-light",
  "approvals-failing-desktop-dark",
  "session-normal-desktop-light",
  "session-many-desktop-dark",
  "session-entry-normal-phone-light",
  "sessions-normal-desktop-light",
  "schedules-normal-desktop-light",
  "schedules-normal-phone-dark",
  "schedule-normal-desktop-dark",
  "webhooks-normal-desktop-light",
  "fleet-normal-desktop-light",
  "fleet-normal-phone-dark",
  "policies-normal-desktop-light",
  "policies-evaluate-normal-desktop-dark",
  "journal-normal-desktop-light",
  "cost-normal-desktop-light",
  "health-normal-phone-light",
];

/** The most elements that a page may have, frame included. */
const MOST_NODES = 600;

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    state: { type: "string" },
    out: { type: "string" },
    keep: { type: "boolean", default: false },
  },
});
const out = values.out === undefined ? mkdtempSync(join(tmpdir(), "orgate-shots-")) : resolve(values.out);
mkdirSync(out, { recursive: true });
const wanted = SHOTS.filter(({ name }) => values.only.split(",").some((text) => name.includes(text)));
const states = STATES.filter((state) => values.state === undefined || values.state === state);
const wrong: string[] = [];
let taken = 0;

const pathOf = (shot: Shot, state: State, at: Seed): string | null =>
  state === "empty" ? shot.empty : state === "many" ? shot.many(at) : shot.normal(at);

/** Fails every call of the API except the sign-in, as a server that cannot read its journal would. */
async function fail({ page }: Person): Promise<void> {
  const problem = {
    type: "urn:orgate:problem:unavailable",
    title: "not now",
    status: 503,
    detail: "the journal cannot be read",
    kind: "unavailable",
    hint: "the server's log has the details; try again in a moment",
    issues: [],
  };
  await page.route("**/api/v1/**", (route) =>
    route.request().url().endsWith("/me")
      ? route.continue()
      : route.fulfill({ status: 503, contentType: "application/problem+json", body: JSON.stringify(problem) }),
  );
}

type Wanted = Readonly<{ name: string; path: string; isFailing: boolean }>;
async function take(person: Person, server: ConsoleServer, { name, path, isFailing }: Wanted): Promise<void> {
  await openPage(person, server, path);
  const at = /[?&]at=(\d+)/.exec(path)?.[1];
  if (at !== undefined) await person.page.getByText(`State at ${at}`, { exact: true }).waitFor(); // a long session arrives in pieces
  await person.page.locator("main [role=status]", { hasText: /…$/ }).first().waitFor({ state: "detached" });
  if (!isFailing) await person.page.locator("main").getByText("…", { exact: true }).first().waitFor({ state: "detached" }); // figures that are being counted
  await person.page.evaluate("document.fonts.ready.then(() => new Promise((done) => setTimeout(done, 250)))");
  await person.page.screenshot({ path: join(out, `${name}.png`), scale: "css", animations: "disabled" });
  taken += 1;
  const nodes = await person.page.evaluate<number>("document.querySelectorAll('*').length");
  if (nodes > MOST_NODES) wrong.push(`${name}: ${nodes} elements in the page; ${MOST_NODES} is the most`);
  const said = person.errors().filter((text) => !isFailing || !text.includes("503"));
  wrong.push(...[...(await findMisfits(person)), ...said].map((found) => `${name}: ${found}`));
}

async function takeAll(browser: Browser, server: ConsoleServer, at: Seed, state: State): Promise<void> {
  for (const look of LOOKS) {
    const person = await signIn(browser, server, "ana", look);
    if (state === "failing") await fail(person);
    for (const shot of wanted) {
      const path = pathOf(shot, state, at);
      if (path === null) continue;
      const name = `${shot.name}-${state}-${look.name}`;
      await take(person, server, { name, path, isFailing: state === "failing" }).catch((error: unknown) =>
        wrong.push(`${name}: ${String(error)}`),
      );
    }
    await person.context.close();
  }
}

const NONE: Seed = { session: "s_00000000", waiting: "s_00000000", approval: "a_none", hostile: "s_00000000", many: null };
const browser = await openBrowser();
const full = await startConsoleServer();
try {
  if (states.includes("empty")) await takeAll(browser, full, NONE, "empty");
  const ana = await signIn(browser, full, "ana");
  let at = await seedProject(ana, full);
  makePast(full, 0);
  if (states.includes("normal")) await takeAll(browser, full, at, "normal");
  if (states.includes("failing")) await takeAll(browser, full, at, "failing");
  if (states.includes("many")) {
    at = await seedLongSession(ana, full, at);
    makePast(full, 10_000, 10_000);
    await takeAll(browser, full, at, "many");
  }
} finally {
  await browser.close();
  await full.close();
}
const kept = join(import.meta.dirname, "..", "..", "..", "docs", "assets", "console");
if (values.keep && wrong.length === 0) {
  mkdirSync(kept, { recursive: true });
  for (const name of KEPT) if (existsSync(join(out, `${name}.png`))) cpSync(join(out, `${name}.png`), join(kept, `${name}.png`));
}
console.log(`${taken} pictures in ${out}`);
for (const found of wrong) console.error(found);
console.log(wrong.length === 0 ? "nothing wrong with them" : `${wrong.length} things wrong`);
process.exitCode = wrong.length === 0 ? 0 : 1;
