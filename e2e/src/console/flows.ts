/**
 * The console in a real browser against the real server: what operators do all day, each case a person at a page. Cases share one server and one browser,
 * and each makes what it needs.
 */
import type { Violation } from "../checks.ts";
import type { Suite } from "../suite.ts";
import { openBrowser } from "./browser.ts";
import { openDesk } from "./desk.ts";
import { FINDING } from "./finding.ts";
import { blur, chord, comesTo, DESKTOP, enter, focused, go, misfits, PHONE, reached, settled, sound, still, told } from "./kit.ts";
import { deliver, execute } from "./seed.ts";
import { type Case, composer, expectText, PNG, say, updated, wrong } from "./talk.ts";
import { TROUBLES } from "./troubles.ts";

const CASES: readonly Case[] = [
  {
    name: "O-1 a link signs in once, where one is; used again it says so, and signing out ends it",
    async run({ browser, desk }) {
      const context = await browser.newContext();
      const page = await context.newPage();
      const link = await desk.link("bo");
      await page.goto(`${desk.url()}/approvals`);
      await page.getByRole("heading", { name: "Orgate" }).waitFor();
      await page.getByLabel("Sign-in link").fill(link);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Approvals" }).waitFor();
      const stayed = page.url().endsWith("/approvals");
      await page.getByRole("button", { name: "bo" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByLabel("Sign-in link").waitFor();
      await page.goto(link);
      await page.getByText(/link/i).first().waitFor();
      const isOut = await page.getByLabel("Sign-in link").isVisible();
      const keeps = page.url().includes("#");
      await context.close();
      return [
        ...wrong(stayed, "signing in led elsewhere"),
        ...wrong(isOut, "a link worked twice"),
        ...wrong(!keeps, "the secret stayed in the address"),
      ];
    },
  },
  {
    name: "a turn streams, and shows words, calls with their verdict and policy, tokens and cost; nothing is shown twice",
    async run({ desk, ana }) {
      const { page } = ana;
      await say(ana, desk, "billing", "What became of ch_8812?");
      await expectText(page, /ch_8812: 4990 cents, timed out/);
      await page.getByRole("link", { name: "desk/find-charges" }).waitFor();
      await expectText(page, /tokens · /);
      const cards = await page.getByRole("article", { name: "Call of find_charge" }).count();
      return [...wrong(cards === 1, `${cards} cards for one call`), ...(await sound(ana, "a turn")), ...(await reached(ana, "a turn"))];
    },
  },
  {
    name: "nothing jumps while a turn thinks, streams, calls, asks and ends: neither for whoever follows it nor for whoever has scrolled up, also on a phone",
    async run({ desk, ana }) {
      const { page } = ana;
      const told = page.getByRole("region", { name: "Conversation" });
      const turn = (who: string, then: () => Promise<void>) => async (): Promise<void> => {
        await composer(page).fill(`tell ${who} at length`);
        await composer(page).press("Enter");
        await told.getByText(`tell ${who} at length`).first().waitFor({ state: "attached" });
        await then();
        await page.getByRole("button", { name: "Cancel" }).waitFor({ state: "detached" });
      };
      const approved = async (): Promise<void> => page.getByRole("button", { name: "Approve once" }).click();
      await say(ana, desk, "stage", "what do you know?");
      await expectText(page, /completed/);
      const found = [...(await still(ana, "at the end", false, turn("ann", approved)))];
      await page.setViewportSize(PHONE);
      found.push(...(await still(ana, "at the end on a phone", false, turn("ben", approved))));
      await page.setViewportSize(DESKTOP);
      await page.evaluate(`(async () => {
        // Wider, its lines are fewer: the list is at its new end first, then somebody scrolls up, by however little.
        const box = document.querySelector("section[aria-label=Conversation]");
        for (let [calm, was] = [0, ""]; calm < 10; ) {
          await new Promise((done) => requestAnimationFrame(done));
          const now = [innerWidth, box.scrollTop, box.scrollHeight].join();
          const isThere = innerWidth === ${DESKTOP.width} && box.scrollHeight - box.scrollTop - box.clientHeight <= 1;
          calm = isThere && now === was ? calm + 1 : 0;
          was = now;
        }
        box.scrollTop -= 60;
      })()`);
      found.push(
        ...(await still(
          ana,
          "scrolled up",
          true,
          turn("cal", async () => {
            await page.locator("main header").getByText("waiting", { exact: true }).waitFor();
            await page.getByRole("button", { name: "Cancel" }).click();
          }),
        )),
      );
      return [...found, ...ana.errors()];
    },
  },
  {
    name: "an edit of a file is shown as a diff, and a denial with the policy's reason",
    async run({ desk, ana }) {
      const { page } = ana;
      await say(ana, desk, "stage", "edit the note");
      await expectText(page, "two, corrected");
      await page.locator("figure").getByText("notes/today.txt").waitFor();
      await say(ana, desk, "billing", "refund ch_8813");
      await page
        .getByText(/more than 200.00 is not paid back by an agent/)
        .first()
        .waitFor();
      return sound(ana, "a diff and a denial");
    },
  },
  {
    name: "O-3 files are attached by the button, pasted and dropped, none is lost; what is refused says why, and so does a message without words; a picture is drawn, a text is shown, and nothing of them runs",
    async run({ desk, ana }) {
      const { page } = ana;
      await go(ana, desk, "/chat/with/stage");
      const picker = page.locator("input[type=file]");
      await picker.setInputFiles([
        { name: "red.png", mimeType: "text/html", buffer: Buffer.from(PNG, "base64") },
        { name: "evil.html", mimeType: "text/html", buffer: Buffer.from("<img src=x onerror=document.title='gone'>\u202e") },
      ]);
      await picker.setInputFiles({ name: "run.exe", mimeType: "image/png", buffer: Buffer.from([77, 90, 0, 255]) });
      await page
        .getByRole("alert")
        .getByText(/run\.exe is no image/)
        .waitFor();
      await page.evaluate(`for (const [kind, to] of [["drop", document.body], ["paste", document.getElementById("said")]]) {
        const files = new DataTransfer();
        files.items.add(new File([kind], kind + ".txt"));
        to.dispatchEvent(kind === "drop"
          ? new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true })
          : new ClipboardEvent("paste", { clipboardData: files, bubbles: true, cancelable: true }));
      }`);
      const chosen = page.getByRole("list", { name: "Files to be sent" });
      for (const name of ["red.png", "evil.html", "drop.txt", "paste.txt"]) await chosen.getByText(name).waitFor();
      await composer(page).press("Enter");
      await page
        .getByRole("alert")
        .getByText(/a message needs words/i)
        .waitFor();
      await page.getByRole("button", { name: /^Leave out paste\.txt/ }).click();
      await composer(page).fill("what do you know?");
      await composer(page).press("Enter");
      await page.waitForURL(/\/chat\/s_/);
      await page.getByRole("img", { name: /^red\.png/ }).waitFor();
      await page.waitForFunction("document.querySelector('canvas[aria-label^=\"red.png\"]')?.width === 3");
      await page.getByText("What it says").first().click();
      await expectText(page, "<img src=x onerror=document.title='gone'>");
      const shown = (await page.locator("main").textContent()) ?? "";
      return [
        ...wrong((await page.locator("main :is(img, iframe)").count()) === 0, "an element was made of a file"),
        ...wrong(!shown.includes("\u202e") && (await page.title()).includes("Orgate"), "a file was more than shown"),
        ...(await sound(ana, "files")),
      ];
    },
  },
  {
    name: "O-4 O-10 V-1 approve, by keyboard alone: the exact action is there, hidden characters escaped also where it is edited; Escape leads back to where one was; one key approves it, held down or not",
    async run({ desk, ana }) {
      const { page } = ana;
      const place = await say(ana, desk, "stage", "pay alice");
      await page.getByRole("article", { name: "Question about pay" }).getByRole("button", { name: "Approve once" }).waitFor();
      await page.locator("main").focus();
      await page.keyboard.press("Escape");
      await blur(ana);
      await chord(ana, "g", "a");
      await page.getByRole("heading", { name: "Approvals" }).waitFor();
      await page.getByRole("region", { name: "The question" }).getByRole("button", { name: "Approve once" }).waitFor();
      await settled(ana);
      const marks = await page.locator("mark").allTextContents();
      const found = [...(await sound(ana, "the inbox")), ...(await reached(ana, "the inbox"))];
      await blur(ana);
      await page.keyboard.press("e");
      const edited = await page.getByLabel(/Arguments to approve/).inputValue();
      await page.keyboard.press("Escape");
      const back = await focused(ana, "Edit and approve");
      await page.keyboard.press("r");
      await page.getByLabel("exactly this call").waitFor();
      const radio = await focused(ana, "scope");
      await page.keyboard.press("Escape");
      await focused(ana, "Approve and remember");
      const isHeld = await page.evaluate<boolean>(`(async () => {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", repeat: true, bubbles: true, composed: true }));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        return document.querySelector("main [aria-busy]") === null;
      })()`);
      await page.keyboard.press("a");
      await expectText(page, "Approved once");
      await go(ana, desk, place);
      await expectText(page, "1250 cents paid to alice");
      return [
        ...wrong(marks.join(" ") === "\\u{202e} \\u{200b}", `hidden characters are shown as ${JSON.stringify(marks)}`),
        ...wrong(edited.includes("for\\u202egnp.exe and\\u200b more"), `what is edited reads ${JSON.stringify(edited)}`),
        ...wrong(back === "Edit and approve", `Escape leads to ${JSON.stringify(back)}`),
        ...wrong(radio === "scope", `what may be remembered begins at ${JSON.stringify(radio)}`),
        ...wrong(isHeld, "a key that is held down answers"),
        ...found,
      ];
    },
  },
  {
    name: "O-4 O-10 deny with a reason, edit and approve: the agent is told, and what runs is what was edited",
    async run({ desk, ana }) {
      const { page } = ana;
      await say(ana, desk, "stage", "pay mallory");
      await page.getByRole("button", { name: "Deny" }).click();
      await page.getByLabel(/Why not/).fill("mallory is not known here");
      await page.getByRole("button", { name: "Deny", exact: true }).click();
      await expectText(page, /That did not work: .*mallory is not known here/);
      await say(ana, desk, "stage", "pay bob");
      await page.getByRole("button", { name: "Edit and approve" }).click();
      const field = page.getByLabel(/Arguments to approve/);
      await field.fill("[]");
      const isHeld = await comesTo(() => page.getByRole("button", { name: "Approve as edited" }).isDisabled(), Boolean);
      await field.fill('{"to": "bob", "cents": 99}');
      await page.getByRole("button", { name: "Approve as edited" }).click();
      await expectText(page, "99 cents paid to bob");
      return [...wrong(isHeld, "arguments that are no object could be sent"), ...ana.errors()];
    },
  },
  {
    name: "O-4 approve and remember: not asked again, listed with who gave it, revoked with a reason, then asked again",
    async run({ desk, ana }) {
      const { page } = ana;
      const place = await say(ana, desk, "stage", "pay carol");
      await page.getByRole("button", { name: "Approve and remember" }).click();
      await page.getByLabel("this tool, whatever its arguments").check();
      await page.getByLabel("for this session").check();
      await page.getByRole("button", { name: "Approve and remember" }).click();
      await expectText(page, "1250 cents paid to carol");
      await page.getByRole("button", { name: "Send" }).waitFor(); // the turn has ended: what is said now is not a word in it
      await composer(page).fill("pay dora");
      await composer(page).press("Enter");
      await expectText(page, "1250 cents paid to dora");
      await go(ana, desk, "/approvals?tab=grants");
      const found = [...(await sound(ana, "grants")), ...(await reached(ana, "grants"))];
      await page.getByRole("button", { name: "Revoke" }).click();
      await page.getByLabel(/^Why/).fill("the incident is over");
      await page.getByRole("button", { name: "Revoke it" }).click();
      await expectText(page, "No answer is remembered");
      await go(ana, desk, place);
      await composer(page).fill("pay erin");
      await composer(page).press("Enter");
      await page.getByRole("button", { name: "Approve once" }).waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      await expectText(page, "cancelled");
      return found;
    },
  },
  {
    name: "a running call tells its output as it comes, and nothing moves for whoever wants no motion; a word steers the turn; cancelling ends it, what nobody can tell of is put to a person, and what was set aside is seen to",
    async run({ desk, ana }) {
      const { page } = ana;
      await say(ana, desk, "stage", "work on it");
      await expectText(page, /step \d+/);
      await composer(page).fill("a little faster");
      await composer(page).press("Enter");
      await expectText(page, "a little faster");
      const found = await sound(ana, "a turn in progress");
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("cancelled", { exact: true }).first().waitFor();
      await go(ana, desk, "/approvals?tab=unknown");
      await page.getByRole("button", { name: "It did not happen" }).first().click();
      await expectText(page, "Every outcome is known");
      await execute(ana, desk, { agent: "stage", input: "deliver box" });
      await go(ana, desk, "/approvals?tab=aside");
      await page.getByText(/nobody took box\\u\{202e\}\\u\{200b\} <img/).waitFor();
      const aside = await sound(ana, "what was set aside");
      await page.getByRole("button", { name: "Seen to" }).click();
      await expectText(page, "Nothing was set aside");
      return [...found, ...aside];
    },
  },
  {
    name: "O-5 the server is killed and started again, with another build of the console: the page says so, stays as it was, and goes on from there with nothing missing or doubled",
    async run({ desk, ana }) {
      const { page } = ana;
      await say(ana, desk, "stage", "pay frank");
      await page.getByRole("button", { name: "Approve once" }).waitFor();
      await desk.kill();
      await expectText(page, "Reconnecting…");
      const tells = await updated(ana);
      const stays = await page.getByRole("article", { name: "Question about pay" }).isVisible();
      await desk.start();
      await expectText(page, "Live");
      await page.getByRole("button", { name: "Updated: load again" }).waitFor();
      await page.getByRole("button", { name: "Approve once" }).click();
      await expectText(page, "1250 cents paid to frank");
      const old = await sound(ana, "a page that is older than its server");
      await tells();
      const cards = await page.getByRole("article", { name: "Call of pay" }).count();
      const said = await page.getByRole("region", { name: "Conversation" }).getByText("pay frank", { exact: true }).count();
      return [
        ...wrong(stays, "the page went blank"),
        ...wrong(cards === 1 && said === 1, `${cards} cards, said ${said} times`),
        ...old.filter((one) => !one.includes("status of 404")),
      ];
    },
  },
  {
    name: "O-5 O-4 two operators at once: both see a question, one answers, and the other sees at once who did; where two must say yes, the first is told so and the whole of a long text can be read, in a low window too",
    async run({ browser, desk, ana }) {
      const bo = await enter(browser, desk, "bo");
      const place = await say(ana, desk, "stage", "pay grace");
      await go(bo, desk, "/approvals");
      await bo.page.getByRole("region", { name: "The question" }).getByRole("button", { name: "Approve once" }).waitFor();
      await go(bo, desk, place);
      await bo.page.getByRole("button", { name: "Approve once" }).click();
      await ana.page.getByText("1250 cents paid to grace").first().waitFor();
      const by = await comesTo(
        () => ana.page.getByRole("article", { name: "Question about pay" }).textContent(),
        (now) => /approved/.test(now ?? ""),
      );

      const large = await say(ana, desk, "stage", "transfer to zoe");
      const card = ana.page.getByRole("article", { name: "Question about transfer" });
      await card.getByRole("button", { name: /^Show the other/ }).click();
      await card.getByText(/and to mallory/).waitFor();
      const forms: Violation[] = [];
      for (const name of ["Edit and approve", "Approve and remember"]) {
        await card.getByRole("button", { name }).click();
        forms.push(...(await sound(ana, name)));
        await ana.page.keyboard.press("Escape");
      }
      await ana.page.setViewportSize({ width: 320, height: 256 });
      forms.push(...(await misfits(ana)));
      const told = (await ana.page.getByRole("region", { name: "Conversation" }).boundingBox())?.height ?? 0;
      await ana.page.setViewportSize(DESKTOP);
      await card.getByRole("button", { name: "Approve once" }).click();
      await expectText(ana.page, "Your yes is counted");
      await card.getByText(/1 of 2 have said yes: ana/).waitFor();
      const again = await card.getByRole("button", { name: /^Approve/ }).count();
      await go(bo, desk, large);
      await bo.page.getByRole("button", { name: "Approve once" }).click();
      await ana.page.getByText("7000 cents moved to zoe").first().waitFor();
      const found = [
        ...wrong(/bo/.test(by ?? "") && /approved/.test(by ?? ""), `the other is told: ${by}`),
        ...wrong(told >= 150, `a low window leaves ${told} px of a conversation`),
        ...wrong(again === 0, "whoever has said yes is asked again"),
        ...forms,
        ...bo.errors(),
        ...ana.errors(),
      ];
      await bo.context.close();
      return found;
    },
  },
  {
    name: "O-3 what is hostile is shown and does nothing: no markup, no request, no link that leads anywhere unasked, nothing wider than the page, no page that hangs",
    async run({ desk, ana }) {
      const { page } = ana;
      await say(ana, desk, "stage", "show me something hostile");
      await expectText(page, /completed/);
      await page.getByRole("button", { name: "Arguments, result, evidence" }).first().click();
      await settled(ana);
      const title = await page.title();
      const made = await page.locator("main :is(img, iframe, script, style, a[href*=evil], a[href^=javascript], a[href^='http'])").count();
      await page.getByRole("button", { name: "the bank" }).click();
      await page.getByRole("dialog").getByText("https://evil.example/login").waitFor();
      await page.getByRole("button", { name: "Stay here" }).click();
      const shown = (await page.locator("main").textContent()) ?? "";
      const found = [...(await sound(ana, "hostile content"))];
      const flood = await execute(ana, desk, { agent: "stage", input: `flood it ${"w".repeat(100_000)}` });
      await go(ana, desk, `/chat/${flood.session}`);
      const told = page.getByRole("region", { name: "Conversation" });
      await told.getByText("completed").waitFor();
      await page.evaluate("document.querySelector('section[aria-label=Conversation]').scrollTop = 0");
      await page.getByRole("button", { name: "Arguments, result, evidence" }).click();
      await expectText(page, /characters more are in the journal/);
      found.push(...(await sound(ana, "a line of a hundred thousand letters")));
      return [
        ...wrong(title.includes("Orgate"), `the title became ${title}`),
        ...wrong(made === 0, `${made} elements were made of it`),
        ...wrong(!/[\u202e\u2066\u200b\u001b\u0007]/.test(shown), "a hidden character is on the page as itself"),
        ...found,
      ];
    },
  },
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
      await expectText(page, "That is all there is to it");
      const took = Date.now() - from;
      await go(ana, desk, "/guide");
      await expectText(page, "That is all there is to it");
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
      const left = (await other.getByRole("list", { name: "Questions" }).textContent()) ?? ""; // comes with the answer that tells the time
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
      await expectText(looking.page, "You may look at it");
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
      await page.getByRole("status").getByText("Nothing of that name").waitFor();
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

export const consoleFlows: Suite = {
  name: "console",
  async run({ judge, say: tell }) {
    const from = performance.now();
    const desk = await openDesk();
    const browser = await openBrowser();
    try {
      const ana = await enter(browser, desk, "ana");
      const world = { browser, desk, ana };
      for (const { name, run } of [...CASES, ...FINDING, ...TROUBLES]) {
        const began = performance.now();
        await judge(name, () => told(ana, () => run(world)));
        await ana.page.unrouteAll(); // one that failed midway is not the next one's matter
        await ana.page.setViewportSize(DESKTOP);
        ana.errors(); // each case tells its own
        if (performance.now() - began > 12_000) tell(`${name} took ${Math.round((performance.now() - began) / 100) / 10} s`);
      }
    } finally {
      await browser.close();
      await desk.close();
      tell(`${CASES.length + FINDING.length + TROUBLES.length} cases in ${Math.round((performance.now() - from) / 1_000)} s`);
    }
  },
};
