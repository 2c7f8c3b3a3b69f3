/** The screens that one watches with, in a real browser against the real server: cases of the suite `console-watch`, over one server with a past. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { exportedClean, type Violation } from "../checks.ts";
import type { Suite } from "../suite.ts";
import { openBrowser } from "./browser.ts";
import { type ConsoleDesk, openDesk } from "./desk.ts";
import { blur, comesTo, enter, focused, go, type Person, reached, settled, sound, told } from "./kit.ts";
import { breakerSet, execute } from "./seed.ts";

type World = Readonly<{ desk: ConsoleDesk; ana: Person; phone: Person; long: string; hostile: string }>;
type Case = Readonly<{ name: string; run(world: World): Promise<readonly Violation[]> }>;
const wrong = (isSo: boolean, what: string): readonly Violation[] => (isSo ? [] : [what]);
const past = z.object({ session: z.string() });
const many = z.object({ items: z.array(z.looseObject({})), next: z.string().nullable() });

/** A journal with a past, made by another process. Returns its long session. */
export function makePast(desk: ConsoleDesk, entries: number, schedules = 0): string {
  const made = spawnSync(
    process.execPath,
    [join(import.meta.dirname, "past.ts"), join(desk.root, ".orgate"), String(entries), String(schedules)],
    {
      encoding: "utf8",
    },
  );
  if (made.status !== 0) throw new Error(made.stderr);
  return past.parse(JSON.parse(made.stdout)).session;
}

const resumed = z.object({
  items: z.array(z.object({ entry: z.object({ event: z.object({ by: z.object({ id: z.string() }), reason: z.string() }) }) })),
  behind: z.number(),
});
/** Who lifted halts, and why, as the journal has it. */
async function liftedIn(person: Person, desk: ConsoleDesk): Promise<readonly string[]> {
  const read = async () =>
    resumed.parse(await (await person.context.request.get(`${desk.url()}/api/v1/journal/entries?kind=work.resumed`)).json());
  const { items } = await comesTo(read, ({ behind }) => behind === 0);
  return items.map(({ entry }) => `${entry.event.by.id}: ${entry.event.reason}`);
}

const CASES: readonly Case[] = [
  {
    name: "O-10 a session is gone through by keyboard, its list being one stop: entry by entry, turn by turn, its state and its raw form; the address says where one is",
    async run({ desk, ana }) {
      const { page } = ana;
      await go(ana, desk, "/sessions?agent=billing");
      await page.getByRole("link", { name: /s_past100000/ }).click();
      await page.getByText(/^State at/).waitFor();
      await page.getByRole("img", { name: /^Timeline: / }).waitFor();
      const found = [...(await sound(ana, "a session")), ...(await reached(ana, "a session"))];
      await go(ana, desk, "/sessions/s_past100000?at=1");
      await page.getByText("State at 1", { exact: true }).waitFor();
      await blur(ana);
      for (const key of ["j", "j", "n", "k", "j", "j"]) await page.keyboard.press(key);
      const at = await page.evaluate<number>("Number(new URL(location.href).searchParams.get('at'))");
      await page.getByText(`State at ${at}`, { exact: true }).waitFor();
      await page.keyboard.press("e");
      await page.getByText("Sealed in").waitFor();
      const hash = await page
        .locator("dd code")
        .filter({ hasText: /^[0-9a-f]{64}$/ })
        .first()
        .textContent();
      const stored: unknown = await (await ana.context.request.get(`${desk.url()}/api/v1/sessions/s_past100000/entries/${at}`)).json();
      const raw = [...(await sound(ana, "a raw entry"))];
      const code = page.getByRole("textbox", { name: "Payload of the entry" });
      const coloured = await comesTo(
        () =>
          code
            .locator("span[class]")
            .filter({ hasText: /^"\w+"$/ })
            .count(),
        (now) => now > 0,
      );
      const isFixed = (await code.getAttribute("contenteditable")) === "false";
      raw.push(...(await reached(ana, "a raw entry")));
      await page.getByRole("region", { name: "Entries" }).focus();
      for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"]) await page.keyboard.press(key);
      await page.waitForURL(new RegExp(`at=${at + 1}&`));
      return [
        ...wrong(coloured > 0, "the code has no colours"),
        ...wrong(isFixed, "what is stored can be typed over"),
        ...wrong(at > 4, `the keys led to entry ${at}`),
        ...wrong(JSON.stringify(stored).includes(`"entryHash":"${hash}"`), "the hash on the page is another than the journal's"),
        ...found,
        ...raw,
      ];
    },
  },
  {
    name: "a fork goes on from the entry that one stands at, and the origin is as it was",
    async run({ desk, ana }) {
      const { page } = ana;
      const { session } = await execute(ana, desk, { agent: "stage", input: "what do you know?" });
      await execute(ana, desk, { agent: "stage", input: "edit the note", session });
      const before = await (await ana.context.request.get(`${desk.url()}/api/v1/sessions/${session}`)).text();
      await go(ana, desk, `/sessions/${session}?at=12`);
      await page.getByRole("button", { name: "Fork from here" }).click();
      await page.waitForURL(/\/chat\/s_/);
      const fork = page.url().split("/").at(-1) ?? "";
      const after = await (await ana.context.request.get(`${desk.url()}/api/v1/sessions/${session}`)).text();
      return [
        ...wrong(fork !== session, "it led to the session itself"),
        ...wrong(before === after, "the origin has changed"),
        ...ana.errors(),
      ];
    },
  },
  {
    name: "a session of ten thousand entries: at most 600 elements, at its start, its middle and its end, and on a phone",
    async run({ desk, ana, phone, long }) {
      const found: Violation[] = [];
      for (const [person, places] of [
        [ana, ["?at=1", "?at=9999&show=entry"]],
        [phone, ["?at=5000"]],
      ] as const)
        for (const at of places) {
          await go(person, desk, `/sessions/${long}${at}`);
          await person.page.getByText(/ of 100\d\d$/).waitFor();
          await settled(person);
          const nodes = await person.page.evaluate<number>("document.querySelectorAll('*').length");
          found.push(...wrong(nodes <= 600, `${nodes} elements at ${at}`));
        }
      const line = phone.page.locator("button[aria-current=true]");
      const lines = await comesTo(
        () => line.count(),
        (now) => now === 1,
      );
      found.push(...wrong(lines === 1, "the entry that one stands at is not on the page"));
      return [...found, ...(await sound(ana, "a long session")), ...(await sound(phone, "a long session on a phone"))];
    },
  },
  {
    name: "O-3 what is hostile is inert in the timeline, the entries, the state and the raw form",
    async run({ desk, ana, hostile }) {
      const { page } = ana;
      const found: Violation[] = [];
      for (const show of ["state", "entry"]) {
        await go(ana, desk, `/sessions/${hostile}?show=${show}`);
        await page.getByRole("img", { name: /^Timeline: / }).waitFor();
        await settled(ana);
        const made = await page.locator("main :is(img, iframe, script, style, a[href^='http'], a[href^=javascript])").count();
        const shown = (await page.locator("main").textContent()) ?? "";
        found.push(...wrong(made === 0, `${made} elements were made of it`));
        found.push(...wrong(!/[\u202e\u2066\u200b\u001b\u0007]/.test(shown), "a hidden character is on the page as itself"));
        found.push(...wrong((await page.title()).includes("Orgate"), "the title was changed"));
        found.push(...(await sound(ana, `hostile, ${show}`)));
      }
      return found;
    },
  },
  {
    name: "O-3 W-18 the fleet: who works, waits and costs what at one look; a breaker is closed and opened, a run is started, an agent chosen, halted and let go on, with the operator's own reason, its definition opened",
    async run({ desk, ana }) {
      const { page } = ana;
      await execute(ana, desk, { agent: "stage", input: "pay judy" });
      await go(ana, desk, "/fleet");
      const card = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "stage", exact: true }) });
      await card.getByText("1 waiting").waitFor();
      await page
        .getByRole("list", { name: "At a glance" })
        .getByText(/% ?$|^\d+ %$/)
        .first()
        .waitFor();
      const found = [...(await sound(ana, "the fleet")), ...(await reached(ana, "the fleet"))];
      const breaker = page.getByRole("region", { name: "Breakers" }).getByRole("listitem").filter({ hasText: "tool:deliver" });
      await breakerSet(ana, desk, "tool:deliver", "open");
      await breaker.getByText("open", { exact: true }).waitFor();
      await page
        .getByRole("list", { name: "At a glance" })
        .getByText(/1 breaker/)
        .waitFor();
      const open = [...(await sound(ana, "an open breaker")), ...(await reached(ana, "an open breaker"))];
      await breaker.getByRole("button", { name: "Close it" }).click();
      await page.getByLabel(/^Why/).fill("a drill");
      await page.getByRole("button", { name: "Close the breaker" }).click();
      await breaker.getByText("closed", { exact: true }).waitFor();
      await page
        .getByRole("list", { name: "At a glance" })
        .getByText(/1 breaker/)
        .waitFor({ state: "detached" });
      await breaker.getByRole("button", { name: "Open it" }).click();
      await page.getByLabel(/^Why/).fill("a drill");
      await page.getByRole("button", { name: "Open the breaker" }).click();
      await breaker.getByText("open", { exact: true }).waitFor();
      await breaker.getByRole("button", { name: "Close it" }).click();
      await page.getByLabel(/^Why/).fill("a drill");
      await page.getByRole("button", { name: "Close the breaker" }).click();
      await breaker.getByText("closed", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Halt work" }).click();
      await page.getByLabel("What", { exact: true }).selectOption("agent:reporter");
      await page.getByLabel("Why").fill("a drill");
      const dialog = [...(await sound(ana, "the halt dialog"))];
      await page.getByRole("button", { name: "Halt", exact: true }).click();
      await page.getByText("Halted: a drill").waitFor();
      const lift = page.getByRole("region", { name: "Halts" }).getByRole("button", { name: "Lift the halt" });
      await lift.click();
      const asking = page.getByRole("dialog");
      await asking.getByText(/ana halted it .*: a drill\./).waitFor();
      await asking.getByRole("button", { name: "Lift the halt" }).click(); // no reason: the form stays
      await asking.getByLabel(/^Why/).fill("   ");
      await asking.getByRole("button", { name: "Lift the halt" }).click();
      const unasked = await liftedIn(ana, desk);
      dialog.push(...(await sound(ana, "the dialog that lifts a halt")));
      await asking.getByLabel(/^Why/).fill("the drill is over");
      await asking.getByRole("button", { name: "Lift the halt" }).click();
      await page.getByText("Halted: a drill").waitFor({ state: "detached" });
      const lifted = await liftedIn(ana, desk);
      await card.getByRole("button", { name: "Definition" }).click();
      await page.getByRole("dialog").getByText("slow_work").first().waitFor();
      const definition = await sound(ana, "a definition");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      const back = await focused(ana, "Definition");
      await card.getByRole("button", { name: "Start a run" }).click();
      await page.getByLabel("What is it to do?").fill("what do you know?");
      await page.getByRole("button", { name: "Start", exact: true }).click();
      await page.waitForURL(/\/sessions\/s_/);
      await page
        .getByText(/ended: completed/)
        .first()
        .waitFor();
      await page.route("**/api/v1/agents?*", async (route) => {
        const answer = await route.fetch();
        const { items, next } = many.parse(await answer.json());
        const others = Array.from({ length: 495 }, (_, i) => ({ ...items[0], name: `one-of-many-${i}` }));
        await route.fulfill({ response: answer, json: { items: [...items, ...others], next } });
      });
      await go(ana, desk, "/fleet");
      await page.getByRole("button", { name: /agents more/ }).waitFor();
      await settled(ana);
      const nodes = await page.evaluate<number>("document.querySelectorAll('*').length");
      await page.unroute("**/api/v1/agents?*");
      return [
        ...wrong(unasked.length === 0, `a halt was lifted without a reason: ${unasked.join(", ")}`),
        ...wrong(lifted.join() === "ana: the drill is over", `the journal says ${lifted.join(", ")}`),
        ...wrong(nodes <= 2_000, `${nodes} elements for five hundred agents`),
        ...open,
        ...wrong(back === "Definition", `a dialog gives the focus back to ${back}`),
        ...found,
        ...dialog,
        ...definition,
        ...ana.errors(),
      ];
    },
  },
  {
    name: "Q-17 a halt is told on every screen, with who, why and the way to lift it; the chat and Health say so, and what waits says why",
    async run({ desk, ana }) {
      const { page } = ana;
      const { session } = await execute(ana, desk, { agent: "stage", input: "what do you know?" });
      await go(ana, desk, "/chat");
      await page.getByText(/^Orgate runs AI agents under your policies/).waitFor();
      await go(ana, desk, "/fleet");
      await page.getByRole("button", { name: "Halt work" }).click();
      await page.getByLabel("Why").fill("the mail loop");
      await page.getByRole("button", { name: "Halt", exact: true }).click();
      const banner = page.getByRole("region", { name: "Halts" });
      const found: Violation[] = [];
      for (const at of [
        "/chat",
        "/approvals",
        "/sessions",
        "/fleet",
        "/schedules",
        "/policies",
        "/journal",
        "/cost",
        "/health",
        "/guide",
      ]) {
        await go(ana, desk, at);
        await banner.getByText(/all work, by ana, .*: the mail loop/).waitFor();
        const live = await page.getByText("Live", { exact: true }).count();
        found.push(...wrong(live === 0, `${at} says Live`), ...(await sound(ana, `${at}, halted`)));
      }
      await go(ana, desk, "/health");
      await page.getByText("The server is well, and work is halted.").waitFor();
      await go(ana, desk, `/chat/${session}`);
      await page.locator("main header").getByText("halted", { exact: true }).waitFor();
      await page.getByLabel("Message to stage").fill("and now?");
      await page.getByLabel("Message to stage").press("Enter");
      await page.getByText("waits: work is halted by ana: the mail loop").waitFor();
      found.push(...(await sound(ana, "a conversation that is halted")));
      await banner.getByRole("button", { name: "Lift the halt" }).click();
      await page.getByLabel(/^Why/).fill("the loop is mended");
      await page.getByRole("dialog").getByRole("button", { name: "Lift the halt" }).click();
      await banner.waitFor({ state: "detached" });
      await page.getByText("Live", { exact: true }).first().waitFor();
      await page.getByText(/^waits: /).waitFor({ state: "detached" });
      return [...found, ...ana.errors()];
    },
  },
  {
    name: "the history of policies: a set as it was, its difference to now, a decision's policies, and applying a set again with a reason",
    async run({ desk, ana }) {
      const { page } = ana;
      await go(ana, desk, "/policies?policy=desk/find-charges");
      await page.getByRole("button", { name: "Edit a draft" }).click();
      const editor = page.getByRole("textbox", { name: "Draft of policies/desk.cedar" });
      await editor.click();
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("// tried for a day\n");
      await page.getByLabel("Why").fill("a trial");
      await page.getByRole("button", { name: "Check", exact: true }).click();
      await page.getByText("It loads, and every decision table holds.").waitFor();
      await page.getByRole("button", { name: "Apply", exact: true }).click();
      await page.getByRole("button", { name: "Edit a draft" }).waitFor();
      await page.getByRole("tab", { name: "History" }).click();
      const list = page.getByRole("list", { name: "Sets of policies, newest first" });
      const trial = list.getByRole("listitem").filter({ hasText: "a trial" });
      await trial.waitFor();
      const found = [...(await sound(ana, "history of policies")), ...(await reached(ana, "history of policies"))];
      await list.getByRole("listitem").last().getByRole("button").click();
      await page.getByRole("heading", { name: "From this set to the files of now" }).waitFor();
      await page.getByText("// tried for a day").first().waitFor();
      const one = [...(await sound(ana, "a set of policies")), ...(await reached(ana, "a set of policies"))];
      await page.getByRole("button", { name: "Apply it again" }).click();
      await page.getByRole("dialog").getByLabel("Why").fill("the trial is over");
      const dialog = await sound(ana, "applying a set again");
      await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
      await list.getByRole("listitem").filter({ hasText: "the trial is over" }).waitFor();
      return [...found, ...one, ...dialog, ...ana.errors()];
    },
  },
  {
    name: "O-8 O-7 policies: what is typed into a draft is no shortcut, what hides in it is seen, and it is there again when one comes back; an error stands in its line and cannot be applied; tables hold; what would be decided is told with its policy",
    async run({ desk, ana }) {
      const { page } = ana;
      await go(ana, desk, "/policies?policy=desk/find-charges");
      await page.getByRole("heading", { name: "policies/desk.cedar" }).waitFor();
      const found = [...(await sound(ana, "policies")), ...(await reached(ana, "policies"))];
      await page.getByRole("button", { name: "Edit a draft" }).click();
      const editor = page.getByRole("textbox", { name: "Draft of policies/desk.cedar" });
      await editor.click();
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("permit(nonsense); // gaps, login\u202e\n"); // `g a` and `g i` lead elsewhere, where nobody types
      const mark = await editor.locator("mark").textContent();
      await page.getByRole("button", { name: "Check", exact: true }).click();
      await page.getByText(/things? (?:is|are) wrong/).waitFor();
      await settled(ana);
      const isHeld = await page.getByRole("button", { name: "Apply" }).isDisabled();
      const draft = await sound(ana, "a draft");
      await go(ana, desk, "/policies?show=cases");
      await page.getByText("holds").first().waitFor();
      const tables = [...(await sound(ana, "decision tables")), ...(await reached(ana, "decision tables"))];
      await page.getByRole("tab", { name: "Files" }).click();
      await page.getByRole("button", { name: /^desk\.cedar.*draft$/ }).click();
      await page.getByRole("button", { name: "Go on with the draft" }).click();
      const keeps = await comesTo(
        async () => (await editor.textContent()) ?? "",
        (now) => now.includes("permit(nonsense); // gaps"),
      );
      await page.getByRole("button", { name: "Throw the draft away" }).click();
      await page.getByRole("button", { name: "Edit a draft" }).waitFor();
      const known = Promise.withResolvers<void>();
      await page.route("**/api/v1/agents/billing", (route) => known.promise.then(() => route.continue()));
      await page.goto(`${desk.url()}/policies?show=evaluate&agent=billing`);
      await comesTo(
        () => page.getByLabel("Wants to").inputValue(),
        (now) => now === "tool:find_charge",
      );
      const isEarly = await page.getByLabel(/arguments/).isEnabled();
      known.resolve();
      await page.getByLabel(/arguments/).fill('{"charge": "ch_1"}');
      await page.getByRole("button", { name: "What would be decided?" }).click();
      await page.getByRole("link", { name: "desk/find-charges" }).waitFor();
      return [
        ...wrong(isHeld, "a set that does not load could be applied"),
        ...wrong(!isEarly, "arguments could be typed before they were filled in"),
        ...wrong(keeps.includes("permit(nonsense); // gaps"), "a draft is lost by leaving it"),
        ...wrong(mark === "\\u{202e}", `what hides in a draft is shown as ${mark}`),
        ...found,
        ...draft,
        ...tables,
        ...(await sound(ana, "a decision")),
        ...(await reached(ana, "a decision")),
      ];
    },
  },
  {
    name: "O-9 the journal is verified with its progress and its head; what is exported is a file that proves itself; entries are found by verdict, tool and person, and each has an address, also one that is no session's",
    async run({ desk, ana, phone }) {
      const { page } = ana;
      await go(ana, desk, "/journal");
      await page.getByRole("button", { name: "Verify the journal" }).click();
      await page.getByText("everything holds").waitFor({ timeout: 60_000 });
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export all of it" }).click()]);
      const exported = exportedClean(readFileSync(await download.path(), "utf8"), join(desk.root, ".orgate"));
      const entries = page.getByRole("region", { name: "Entries" });
      await page.getByLabel("Verdict").selectOption("deny");
      await page.getByLabel("Tool").fill("refund");
      await page.waitForURL(/verdict=deny.*tool=refund/);
      await entries
        .getByText(/more than 200.00 is not paid back/)
        .first()
        .waitFor();
      await settled(ana);
      const others = await entries.getByText(/^allowed/).count();
      const found: Violation[] = [...(await sound(ana, "the journal")), ...(await reached(ana, "the journal"))];
      await go(ana, desk, "/journal?kind=work.halted");
      await entries
        .getByRole("link", { name: /^halt · \d+$/ })
        .first()
        .click();
      await page.waitForURL(/\/journal\/halt\/\d+$/);
      await page.reload();
      await page.getByText("the mail loop").first().waitFor(); // the newest of them
      await ana.context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("button", { name: "Copy the hash" }).click();
      await page.getByText("The hash is copied").waitFor();
      const copied = await page.evaluate<string>("navigator.clipboard.readText()");
      const halt: unknown = await (
        await ana.context.request.get(`${desk.url()}/api/v1/journal/entries/halt/${page.url().split("/").at(-1)}`)
      ).json();
      found.push(...(await sound(ana, "an entry")), ...(await reached(ana, "an entry")));
      await go(ana, desk, "/journal?person=bo");
      await entries
        .getByText(/user:bo answered/)
        .first()
        .waitFor();
      await go(ana, desk, "/journal?label=nothing-like-it");
      await page.getByText("No entry is about that").waitFor();
      await go(phone, desk, "/journal?verdict=deny");
      await phone.page
        .getByText(/^denied/)
        .first()
        .waitFor();
      return [
        ...wrong(JSON.stringify(halt).includes(`"entryHash":"${copied}"`), `what was copied is ${copied}`),
        ...exported,
        ...wrong(others === 0, "what was allowed is among what was denied"),
        ...found,
        ...(await sound(phone, "the journal on a phone")),
      ];
    },
  },
  {
    name: "O-6 cost by agent, model and day; health; both also on a phone",
    async run({ desk, ana, phone }) {
      const found: Violation[] = [];
      for (const person of [ana, phone]) {
        await go(person, desk, "/cost?days=7");
        await person.page.getByRole("img", { name: /^Cost by day/ }).waitFor();
        await settled(person);
        const rows = await person.page.getByRole("row").filter({ hasText: "offline/billing" }).count();
        found.push(
          ...wrong(rows === 1, `${rows} rows for one model`),
          ...(await sound(person, "cost")),
          ...(await reached(person, "cost")),
        );
        await go(person, desk, "/health");
        await person.page.getByText("The server can do its work.").waitFor();
        await person.page.getByText("journal-write").waitFor();
        found.push(...(await sound(person, "health")), ...(await reached(person, "health")));
      }
      return found;
    },
  },
];

export const consoleWatch: Suite = {
  name: "console-watch",
  async run({ judge, say: tell }) {
    const from = performance.now();
    const desk = await openDesk();
    const browser = await openBrowser();
    try {
      const long = makePast(desk, 10_000);
      const ana = await enter(browser, desk, "ana");
      const phone = await enter(browser, desk, "ana", { phone: true, scheme: "dark" });
      const hostile = (await execute(ana, desk, { agent: "stage", input: "show me something hostile" })).session;
      for (const { name, run } of CASES) {
        const began = performance.now();
        await judge(name, () => told(ana, () => run({ desk, ana, phone, long, hostile })));
        for (const person of [ana, phone]) {
          await person.page.unrouteAll(); // one that failed midway is not the next one's matter
          person.errors(); // each case tells its own
        }
        tell(`${name} took ${Math.round((performance.now() - began) / 100) / 10} s`);
      }
    } finally {
      await browser.close();
      await desk.close();
      tell(`${CASES.length} cases in ${Math.round((performance.now() - from) / 1_000)} s`);
    }
  },
};
