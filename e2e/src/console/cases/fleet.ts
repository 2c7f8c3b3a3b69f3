/** Cases of the suite `console-watch`: the fleet, its breakers and its halts. */
import type { Locator } from "playwright-core";
import * as z from "zod";
import type { Violation } from "../../checks.ts";
import { checkKeyboard, checkPage, openPage, type Person, pollUntil, waitForFocus, waitUntilSettled } from "../kit.ts";
import { execute, setBreaker } from "../seed.ts";
import type { ConsoleServer } from "../server.ts";
import { violationUnless, type WatchCase, type WatchWorld } from "./case.ts";

const many = z.object({ items: z.array(z.looseObject({})), next: z.string().nullable() });

const resumed = z.object({
  items: z.array(z.object({ entry: z.object({ event: z.object({ by: z.object({ id: z.string() }), reason: z.string() }) }) })),
  behind: z.number(),
});
/** Lifted halts in the journal, each as `person: reason`. */
async function listLiftedHalts(person: Person, server: ConsoleServer): Promise<readonly string[]> {
  const read = async () =>
    resumed.parse(await (await person.context.request.get(`${server.url()}/api/v1/journal/entries?kind=work.resumed`)).json());
  const { items } = await pollUntil(read, ({ behind }) => behind === 0);
  return items.map(({ entry }) => `${entry.event.by.id}: ${entry.event.reason}`);
}

/** Steps of one case, in order. */
const FLEET_STEPS: readonly ((world: WatchWorld) => Promise<readonly Violation[]>)[] = [
  showFleet,
  setBreakers,
  haltAndLift,
  openDefinition,
  startRun,
  showFiveHundredAgents,
];

const stageCard = ({ page }: Person): Locator =>
  page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "stage", exact: true }) });

async function showFleet({ server, ana }: WatchWorld) {
  await execute(ana, server, { agent: "stage", input: "pay judy" });
  await openPage(ana, server, "/fleet");
  await stageCard(ana).getByText("1 waiting").waitFor();
  await ana.page
    .getByRole("list", { name: "At a glance" })
    .getByText(/% ?$|^\d+ %$/)
    .first()
    .waitFor();
  return [...(await checkPage(ana, "the fleet")), ...(await checkKeyboard(ana, "the fleet"))];
}

async function setBreakers({ server, ana }: WatchWorld) {
  const { page } = ana;
  const breaker = page.getByRole("region", { name: "Breakers" }).getByRole("listitem").filter({ hasText: "tool:deliver" });
  const counted = page.getByRole("list", { name: "At a glance" }).getByText(/1 breaker/);
  const set = async (to: "Close" | "Open"): Promise<void> => {
    await breaker.getByRole("button", { name: `${to} it` }).click();
    await page.getByLabel(/^Why/).fill("a drill");
    await page.getByRole("button", { name: `${to} the breaker` }).click();
    await breaker.getByText(to === "Close" ? "closed" : "open", { exact: true }).waitFor();
  };
  await setBreaker(ana, server, "tool:deliver", "open");
  await breaker.getByText("open", { exact: true }).waitFor();
  await counted.waitFor();
  const found = [...(await checkPage(ana, "an open breaker")), ...(await checkKeyboard(ana, "an open breaker"))];
  await set("Close");
  await counted.waitFor({ state: "detached" });
  await set("Open");
  await set("Close");
  return found;
}

async function haltAndLift({ server, ana }: WatchWorld) {
  const { page } = ana;
  await page.getByRole("button", { name: "Halt work" }).click();
  await page.getByLabel("What", { exact: true }).selectOption("agent:reporter");
  await page.getByLabel("Why").fill("a drill");
  const dialog = [...(await checkPage(ana, "the halt dialog"))];
  await page.getByRole("button", { name: "Halt", exact: true }).click();
  await page.getByText("Halted: a drill").waitFor();
  const lift = page.getByRole("region", { name: "Halts" }).getByRole("button", { name: "Lift the halt" });
  await lift.click();
  const asking = page.getByRole("dialog");
  await asking.getByText(/ana halted it .*: a drill\./).waitFor();
  await asking.getByRole("button", { name: "Lift the halt" }).click(); // no reason: the form stays
  await asking.getByLabel(/^Why/).fill("   ");
  await asking.getByRole("button", { name: "Lift the halt" }).click();
  const unasked = await listLiftedHalts(ana, server);
  dialog.push(...(await checkPage(ana, "the dialog that lifts a halt")));
  await asking.getByLabel(/^Why/).fill("the drill is over");
  await asking.getByRole("button", { name: "Lift the halt" }).click();
  await page.getByText("Halted: a drill").waitFor({ state: "detached" });
  const lifted = await listLiftedHalts(ana, server);
  return [
    ...violationUnless(unasked.length === 0, `a halt was lifted without a reason: ${unasked.join(", ")}`),
    ...violationUnless(lifted.join() === "ana: the drill is over", `the journal says ${lifted.join(", ")}`),
    ...dialog,
  ];
}

async function openDefinition({ ana }: WatchWorld) {
  const { page } = ana;
  await stageCard(ana).getByRole("button", { name: "Definition" }).click();
  await page.getByRole("dialog").getByText("slow_work").first().waitFor();
  const found = await checkPage(ana, "a definition");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  const back = await waitForFocus(ana, "Definition");
  return [...violationUnless(back === "Definition", `a dialog gives the focus back to ${back}`), ...found];
}

async function startRun({ ana }: WatchWorld) {
  const { page } = ana;
  await stageCard(ana).getByRole("button", { name: "Start a run" }).click();
  await page.getByLabel("What should it do?").fill("what do you know?");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.waitForURL(/\/sessions\/s_/);
  await page
    .getByText(/ended: completed/)
    .first()
    .waitFor();
  return [];
}

async function showFiveHundredAgents({ server, ana }: WatchWorld) {
  const { page } = ana;
  await page.route("**/api/v1/agents?*", async (route) => {
    const answer = await route.fetch();
    const { items, next } = many.parse(await answer.json());
    const others = Array.from({ length: 495 }, (_, i) => ({ ...items[0], name: `one-of-many-${i}` }));
    await route.fulfill({ response: answer, json: { items: [...items, ...others], next } });
  });
  await openPage(ana, server, "/fleet");
  await page.getByRole("button", { name: /agents more/ }).waitFor();
  await waitUntilSettled(ana);
  const nodes = await page.evaluate<number>("document.querySelectorAll('*').length");
  await page.unroute("**/api/v1/agents?*");
  return [...violationUnless(nodes <= 2_000, `${nodes} elements for five hundred agents`), ...ana.errors()];
}

export const FLEET: readonly WatchCase[] = [
  {
    name: "O-3 W-18 the fleet at a glance: work, waiting, cost; a breaker is closed and opened, an agent halted and resumed with the operator's own reason, its definition opened, a run started",
    async run(world) {
      const found: Violation[] = [];
      for (const step of FLEET_STEPS) found.push(...(await step(world)));
      return found;
    },
  },
  {
    name: "Q-17 every screen shows a halt with person, reason and a way to lift it; chat and Health show it, and a waiting message says why",
    async run({ server, ana }) {
      const { page } = ana;
      const { session } = await execute(ana, server, { agent: "stage", input: "what do you know?" });
      await openPage(ana, server, "/chat");
      await page.getByText(/^Orgate runs AI agents under your policies/).waitFor();
      await openPage(ana, server, "/fleet");
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
        await openPage(ana, server, at);
        await banner.getByText(/all work, by ana, .*: the mail loop/).waitFor();
        const live = await page.getByText("Live", { exact: true }).count();
        found.push(...violationUnless(live === 0, `${at} says Live`), ...(await checkPage(ana, `${at}, halted`)));
      }
      await openPage(ana, server, "/health");
      await page.getByText("The server is healthy, and work is halted.").waitFor();
      await openPage(ana, server, `/chat/${session}`);
      await page.locator("main header").getByText("halted", { exact: true }).waitFor();
      await page.getByLabel("Message to stage").fill("and now?");
      await page.getByLabel("Message to stage").press("Enter");
      await page.getByText("waits: work is halted by ana: the mail loop").waitFor();
      found.push(...(await checkPage(ana, "a conversation that is halted")));
      await banner.getByRole("button", { name: "Lift the halt" }).click();
      await page.getByLabel(/^Why/).fill("the loop is mended");
      await page.getByRole("dialog").getByRole("button", { name: "Lift the halt" }).click();
      await banner.waitFor({ state: "detached" });
      await page.getByText("Live", { exact: true }).first().waitFor();
      await page.getByText(/^waits: /).waitFor({ state: "detached" });
      return [...found, ...ana.errors()];
    },
  },
];
