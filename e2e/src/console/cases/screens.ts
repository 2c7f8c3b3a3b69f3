/** Cases of the suite `console`: first run, phone, schedules and webhooks, palette. */
import { blur, chord, comesTo, DESKTOP, enter, go, misfits, PHONE, reached, settled, sound } from "../kit.ts";
import { deliver } from "../seed.ts";
import { type Case, composer, expectText, say, wrong } from "./case.ts";

export const SCREENS: readonly Case[] = [
  {
    name: "O-7 the first run: an allow, a denial and an approval, with no key, within a minute; it is still there when the page is loaded again",
    async run({ desk, ana }) {
      const { page } = ana;
      const from = Date.now();
      await go(ana, desk, "/guide");
      await page.getByRole("button", { name: "Ask about a charge" }).click();
      await page.getByRole("button", { name: "Ask for a large refund" }).click();
      await page.getByRole("button", { name: "Ask for a small refund" }).click();
      await page.getByRole("button", { name: "Approve once" }).click();
      await expectText(page, "That is the whole idea");
      const took = Date.now() - from;
      await go(ana, desk, "/guide");
      await expectText(page, "That is the whole idea");
      const found = [...(await sound(ana, "the first run")), ...(await reached(ana, "the first run"))];
      await page.setViewportSize(PHONE);
      found.push(...(await sound(ana, "the first run's last page on a phone")));
      await page.setViewportSize(DESKTOP);
      return [...wrong(took < 60_000, `it took ${took} ms`), ...found];
    },
  },
  {
    name: "O-7 on a phone: the first page says what waits, the bar leads to what waits, the question fits, a thumb approves it; a clock that is wrong does not change how long there is",
    async run({ browser, desk, ana }) {
      await say(ana, desk, "stage", "pay heidi");
      const phone = await enter(browser, desk, "ana", { phone: true, scheme: "dark" });
      const { page } = phone;
      await page
        .getByRole("list", { name: "Now" })
        .getByRole("link", { name: /^Waiting for people\s*[1-9]/ })
        .waitFor();
      const first = await sound(phone, "the first page on a phone");
      await page
        .getByRole("navigation", { name: "Screens" })
        .getByRole("link", { name: /Approvals/ })
        .tap();
      await page.getByRole("link", { name: /pay/ }).first().tap();
      const approve = page.getByRole("button", { name: "Approve once" });
      await approve.waitFor();
      const found = [...(await sound(phone, "a question on a phone")), ...(await reached(phone, "a question on a phone"))];
      const late = await browser.newContext({ storageState: await phone.context.storageState() });
      const other = await late.newPage();
      await other.clock.install({ time: Date.now() + 3 * 3_600_000 });
      await other.goto(`${desk.url()}/approvals`);
      const left = (await other.getByRole("list", { name: "Requests" }).textContent()) ?? ""; // comes with the answer that tells the time
      await late.close();
      const height = (await approve.boundingBox())?.height ?? 0;
      await approve.tap();
      await expectText(page, "Approved once");
      await ana.page.getByText("1250 cents paid to heidi").first().waitFor();
      await page.getByRole("button", { name: "More" }).tap();
      await page.getByRole("menuitem", { name: "First run" }).tap();
      await page.getByRole("heading", { name: "First run" }).waitFor();
      const more = await misfits(phone);
      await phone.context.close();
      return [
        ...wrong(height >= 44, `the button is ${height} px high`),
        ...wrong(/pay5\d:\d\d/.test(left), `by a clock that is hours ahead, what waits an hour is told as ${left}`),
        ...first,
        ...found,
        ...more,
      ];
    },
  },
  {
    name: "schedules: added (what is wrong is said in the form), fired, paused, resumed, removed, each told live; webhooks: what arrived; who may only look is offered nothing",
    async run({ browser, desk, ana }) {
      const { page } = ana;
      await go(ana, desk, "/schedules");
      await expectText(page, "At 07:00 Monday to Friday");
      const found = [...(await sound(ana, "schedules")), ...(await reached(ana, "schedules"))];
      await page.getByRole("button", { name: "Add a schedule" }).click();
      const adding = page.getByRole("dialog");
      await adding.getByLabel("Name", { exact: true }).fill("noon");
      await adding.getByLabel("Agent", { exact: true }).selectOption("reporter");
      await page.getByLabel(/^Cron/).fill("0 0 30 2 *");
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page
        .getByRole("alert")
        .getByText(/never comes/)
        .waitFor();
      found.push(
        ...wrong(
          ana.errors().every((told) => told.includes("400")),
          "something else than the refusal went wrong",
        ),
      );
      found.push(...(await sound(ana, "adding a schedule")));
      await page.getByLabel(/^Cron/).fill("0 12 * * *");
      await expectText(page, /Fires at 12:00 every day/);
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.waitForURL(/\/schedules\/noon$/);
      await page.getByRole("button", { name: "Run now" }).click();
      const past = page.getByRole("list", { name: "History" });
      await past.getByText(/^Fired for user:ana/).waitFor();
      await past.getByText("completed").waitFor();
      const session = (await past.getByRole("link").first().getAttribute("href")) ?? "";
      await page.getByRole("button", { name: "Pause" }).click();
      await page.getByLabel(/^Why/).fill("a holiday");
      await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
      await past.getByText(/paused by user:ana: a holiday/).waitFor();
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Resume", exact: true }).click();
      await page.getByRole("button", { name: "Pause" }).waitFor();
      const looking = await enter(browser, desk, "bo", { phone: true, actions: "observe,read-journal" });
      await go(looking, desk, "/schedules/noon");
      await expectText(looking.page, "You may read it");
      await settled(looking);
      const offered = await looking.page.getByRole("button", { name: /^(?:Run now|Pause|Remove)$/ }).count();
      found.push(...(await sound(looking, "a schedule on a phone")));
      await go(looking, desk, "/schedules?tab=webhooks"); // a page of what is removed would ask for it once more, and be told that it is gone
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
      await page.waitForURL(/\/schedules$/);
      const sent = [
        await deliver(desk, { id: "build-1", state: "failed" }),
        await deliver(desk, { id: "build-2", state: "passed" }),
        await deliver(desk, { id: "build-3", state: "failed" }, "another secret"),
      ];
      const hook = looking.page.getByRole("article", { name: "Webhook builds" });
      await hook.getByText("build-1").waitFor();
      const sessions = await comesTo(
        () => hook.getByRole("link", { name: /^s_/ }).count(),
        (now) => now === 1,
      );
      await go(looking, desk, "/schedules?tab=webhooks");
      await hook.getByText(/^1 not signed with its secret/).waitFor();
      found.push(...(await misfits(looking)), ...looking.errors());
      await looking.context.close();
      return [
        ...wrong(/^\/sessions\/s_/.test(session), `a firing leads to ${session}`),
        ...wrong(offered === 0, `${offered} buttons for somebody who may only look`),
        ...wrong(sent.join(" ") === "202 200 401", `deliveries were answered ${sent.join(" ")}`),
        ...wrong(sessions === 1, `${sessions} sessions for one delivery`),
        ...found,
      ];
    },
  },
  {
    name: "the palette finds screens and agents, every shortcut is listed, and single keys can be switched off",
    async run({ desk, ana }) {
      const { page } = ana;
      await go(ana, desk, "/approvals");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("nothing has such a name");
      await page.getByRole("status").getByText("No match.").waitFor();
      const none = await sound(ana, "the palette that found nothing");
      await page.getByRole("combobox").fill("talk billing");
      await page
        .getByRole("option", { name: /billing/ })
        .first()
        .waitFor();
      const palette = await sound(ana, "the palette");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/chat\/with\/billing/);
      await composer(page).waitFor(); // it takes the focus when it comes
      await blur(ana);
      await page.keyboard.press("?");
      await page.getByRole("dialog").getByText("Go to Approvals").waitFor();
      const help = await sound(ana, "the shortcuts");
      await page.getByRole("checkbox").uncheck();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await blur(ana);
      await chord(ana, "g", "a");
      await settled(ana);
      const isStill = page.url().includes("/chat/");
      await page.evaluate("localStorage.clear()");
      await go(ana, desk, "/nowhere/at/all");
      await expectText(page, "There is nothing at this address");
      return [...none, ...palette, ...help, ...wrong(isStill, "a key that was switched off did something")];
    },
  },
];
