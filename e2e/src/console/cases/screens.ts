/** Cases of the suite `console`: first run, phone, schedules and webhooks, palette. */
import {
  blur,
  checkKeyboard,
  checkPage,
  DESKTOP,
  findMisfits,
  openPage,
  PHONE,
  pollUntil,
  pressKeys,
  signIn,
  waitUntilSettled,
} from "../kit.ts";
import { deliver } from "../seed.ts";
import { type Case, composer, expectText, startConversation, violationUnless } from "./case.ts";

export const SCREENS: readonly Case[] = [
  {
    name: "O-7 the first run: an allow, a denial and an approval, without a key, within a minute; it is still there after a reload",
    async run({ server, ana }) {
      const { page } = ana;
      const from = Date.now();
      await openPage(ana, server, "/guide");
      await page.getByRole("button", { name: "Ask about a charge" }).click();
      await page.getByRole("button", { name: "Ask for a large refund" }).click();
      await page.getByRole("button", { name: "Ask for a small refund" }).click();
      await page.getByRole("button", { name: "Approve once" }).click();
      await expectText(page, "That is the whole idea");
      const took = Date.now() - from;
      await openPage(ana, server, "/guide");
      await expectText(page, "That is the whole idea");
      const found = [...(await checkPage(ana, "the first run")), ...(await checkKeyboard(ana, "the first run"))];
      await page.setViewportSize(PHONE);
      found.push(...(await checkPage(ana, "the first run's last page on a phone")));
      await page.setViewportSize(DESKTOP);
      return [...violationUnless(took < 60_000, `it took ${took} ms`), ...found];
    },
  },
  {
    name: "O-7 on a phone: the first page shows what waits, the bar leads there, the request fits, a thumb approves it; a wrong clock does not change the time left",
    async run({ browser, server, ana }) {
      await startConversation(ana, server, "stage", "pay heidi");
      const phone = await signIn(browser, server, "ana", { phone: true, scheme: "dark" });
      const { page } = phone;
      await page
        .getByRole("list", { name: "Now" })
        .getByRole("link", { name: /^Waiting for people\s*[1-9]/ })
        .waitFor();
      const first = await checkPage(phone, "the first page on a phone");
      await page
        .getByRole("navigation", { name: "Screens" })
        .getByRole("link", { name: /Approvals/ })
        .tap();
      await page.getByRole("link", { name: /pay/ }).first().tap();
      const approve = page.getByRole("button", { name: "Approve once" });
      await approve.waitFor();
      const found = [...(await checkPage(phone, "a question on a phone")), ...(await checkKeyboard(phone, "a question on a phone"))];
      const late = await browser.newContext({ storageState: await phone.context.storageState() });
      const other = await late.newPage();
      await other.clock.install({ time: Date.now() + 3 * 3_600_000 });
      await other.goto(`${server.url()}/approvals`);
      const left = (await other.getByRole("list", { name: "Requests" }).textContent()) ?? ""; // the answer that fills the list also carries the server's time
      await late.close();
      const height = (await approve.boundingBox())?.height ?? 0;
      await approve.tap();
      await expectText(page, "Approved once");
      await ana.page.getByText("1250 cents paid to heidi").first().waitFor();
      await page.getByRole("button", { name: "More" }).tap();
      await page.getByRole("menuitem", { name: "First run" }).tap();
      await page.getByRole("heading", { name: "First run" }).waitFor();
      const more = await findMisfits(phone);
      await phone.context.close();
      return [
        ...violationUnless(height >= 44, `the button is ${height} px high`),
        ...violationUnless(/pay5\d:\d\d/.test(left), `by a clock that is hours ahead, what waits an hour is told as ${left}`),
        ...first,
        ...found,
        ...more,
      ];
    },
  },
  {
    name: "schedules: added (the form shows the problem), fired, paused, resumed, removed, all live; webhooks: deliveries; a person who may only read sees no buttons",
    async run({ browser, server, ana }) {
      const { page } = ana;
      await openPage(ana, server, "/schedules");
      await expectText(page, "At 07:00 Monday to Friday");
      const found = [...(await checkPage(ana, "schedules")), ...(await checkKeyboard(ana, "schedules"))];
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
        ...violationUnless(
          ana.errors().every((told) => told.includes("400")),
          "something else than the refusal went wrong",
        ),
      );
      found.push(...(await checkPage(ana, "adding a schedule")));
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
      const looking = await signIn(browser, server, "bo", { phone: true, actions: "observe,read-journal" });
      await openPage(looking, server, "/schedules/noon");
      await expectText(looking.page, "You may read it");
      await waitUntilSettled(looking);
      const offered = await looking.page.getByRole("button", { name: /^(?:Run now|Pause|Remove)$/ }).count();
      found.push(...(await checkPage(looking, "a schedule on a phone")));
      await openPage(looking, server, "/schedules?tab=webhooks"); // the page of a removed schedule would read it again, and log a 404
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
      await page.waitForURL(/\/schedules$/);
      const sent = [
        await deliver(server, { id: "build-1", state: "failed" }),
        await deliver(server, { id: "build-2", state: "passed" }),
        await deliver(server, { id: "build-3", state: "failed" }, "another secret"),
      ];
      const hook = looking.page.getByRole("article", { name: "Webhook builds" });
      await hook.getByText("build-1").waitFor();
      const sessions = await pollUntil(
        () => hook.getByRole("link", { name: /^s_/ }).count(),
        (now) => now === 1,
      );
      await openPage(looking, server, "/schedules?tab=webhooks");
      await hook.getByText(/^1 not signed with its secret/).waitFor();
      found.push(...(await findMisfits(looking)), ...looking.errors());
      await looking.context.close();
      return [
        ...violationUnless(/^\/sessions\/s_/.test(session), `a firing leads to ${session}`),
        ...violationUnless(offered === 0, `${offered} buttons for somebody who may only look`),
        ...violationUnless(sent.join(" ") === "202 200 401", `deliveries were answered ${sent.join(" ")}`),
        ...violationUnless(sessions === 1, `${sessions} sessions for one delivery`),
        ...found,
      ];
    },
  },
  {
    name: "the palette finds screens and agents, every shortcut is listed, and single keys can be switched off",
    async run({ server, ana }) {
      const { page } = ana;
      await openPage(ana, server, "/approvals");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("nothing has such a name");
      await page.getByRole("status").getByText("No match.").waitFor();
      const none = await checkPage(ana, "the palette that found nothing");
      await page.getByRole("combobox").fill("talk billing");
      await page
        .getByRole("option", { name: /billing/ })
        .first()
        .waitFor();
      const palette = await checkPage(ana, "the palette");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/chat\/with\/billing/);
      await composer(page).waitFor(); // it takes the focus when it appears
      await blur(ana);
      await page.keyboard.press("?");
      await page.getByRole("dialog").getByText("Go to Approvals").waitFor();
      const help = await checkPage(ana, "the shortcuts");
      await page.getByRole("checkbox").uncheck();
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await blur(ana);
      await pressKeys(ana, "g", "a");
      await waitUntilSettled(ana);
      const isStill = page.url().includes("/chat/");
      await page.evaluate("localStorage.clear()");
      await openPage(ana, server, "/nowhere/at/all");
      await expectText(page, "There is nothing at this address");
      return [...none, ...palette, ...help, ...violationUnless(isStill, "a key that was switched off did something")];
    },
  },
];
