/** Cases of the suite `console`: a conversation with an agent. */
import { checkKeyboard, checkPage, checkStill, DESKTOP, openPage, PHONE, waitUntilSettled } from "../kit.ts";
import { execute } from "../seed.ts";
import { type Case, composer, expectText, PNG, startConversation, violationUnless } from "./case.ts";

export const CONVERSATION: readonly Case[] = [
  {
    name: "a turn streams, and shows text, calls with their verdict and policy, tokens and cost; nothing is shown twice",
    async run({ server, ana }) {
      const { page } = ana;
      await startConversation(ana, server, "billing", "What became of ch_8812?");
      await expectText(page, /ch_8812: 4990 cents, timed out/);
      await page.getByRole("link", { name: "desk/find-charges" }).waitFor();
      await expectText(page, /tokens · /);
      const cards = await page.getByRole("article", { name: "Call of find_charge" }).count();
      return [
        ...violationUnless(cards === 1, `${cards} cards for one call`),
        ...(await checkPage(ana, "a turn")),
        ...(await checkKeyboard(ana, "a turn")),
      ];
    },
  },
  {
    name: "nothing jumps while a turn thinks, streams, calls, asks and ends: neither at the end nor scrolled up, also on a phone",
    async run({ server, ana }) {
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
      await startConversation(ana, server, "stage", "what do you know?");
      await expectText(page, /completed/);
      const found = [...(await checkStill(ana, "at the end", false, turn("ann", approved)))];
      await page.setViewportSize(PHONE);
      found.push(...(await checkStill(ana, "at the end on a phone", false, turn("ben", approved))));
      await page.setViewportSize(DESKTOP);
      await page.evaluate(`(async () => {
        // A wider list has fewer lines: wait until it is at its new end, then scroll up a little.
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
        ...(await checkStill(
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
    async run({ server, ana }) {
      const { page } = ana;
      await startConversation(ana, server, "stage", "edit the note");
      await expectText(page, "two, corrected");
      await page.locator("figure").getByText("notes/today.txt").waitFor();
      await startConversation(ana, server, "billing", "refund ch_8813");
      await page
        .getByText(/more than 200.00 is not paid back by an agent/)
        .first()
        .waitFor();
      return checkPage(ana, "a diff and a denial");
    },
  },
  {
    name: "O-3 files are attached by button, paste and drop, and none is lost; a refused file says why, and so does a message without text; a picture is drawn, a text is shown, and nothing of them runs",
    async run({ server, ana }) {
      const { page } = ana;
      await openPage(ana, server, "/chat/with/stage");
      const picker = page.locator("input[type=file]");
      await picker.setInputFiles([
        { name: "red.png", mimeType: "text/html", buffer: Buffer.from(PNG, "base64") },
        { name: "evil.html", mimeType: "text/html", buffer: Buffer.from("<img src=x onerror=document.title='gone'>\u202e") },
      ]);
      await picker.setInputFiles({ name: "run.exe", mimeType: "image/png", buffer: Buffer.from([77, 90, 0, 255]) });
      await page
        .getByRole("alert")
        .getByText(/run\.exe is not an image/i)
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
        .getByText(/a message needs text/i)
        .waitFor();
      await page.getByRole("button", { name: /^Remove paste\.txt/ }).click();
      await composer(page).fill("what do you know?");
      await composer(page).press("Enter");
      await page.waitForURL(/\/chat\/s_/);
      await page.getByRole("img", { name: /^red\.png/ }).waitFor();
      await page.waitForFunction("document.querySelector('canvas[aria-label^=\"red.png\"]')?.width === 3");
      await page.getByText("Text", { exact: true }).first().click();
      await expectText(page, "<img src=x onerror=document.title='gone'>");
      const shown = (await page.locator("main").textContent()) ?? "";
      return [
        ...violationUnless((await page.locator("main :is(img, iframe)").count()) === 0, "an element was made of a file"),
        ...violationUnless(!shown.includes("\u202e") && (await page.title()).includes("Orgate"), "a file was more than shown"),
        ...(await checkPage(ana, "files")),
      ];
    },
  },
  {
    name: "a running call shows its output live, without motion for people who prefer none; a message steers the turn; cancelling ends it, a person resolves the unknown outcome, and a failed call is dismissed",
    async run({ server, ana }) {
      const { page } = ana;
      await startConversation(ana, server, "stage", "work on it");
      await expectText(page, /step \d+/);
      await composer(page).fill("a little faster");
      await composer(page).press("Enter");
      await expectText(page, "a little faster");
      const found = await checkPage(ana, "a turn in progress");
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("cancelled", { exact: true }).first().waitFor();
      await openPage(ana, server, "/approvals?tab=unknown");
      await page.getByRole("button", { name: "It did not happen" }).first().click();
      await expectText(page, "No unknown outcomes");
      await execute(ana, server, { agent: "stage", input: "deliver box" });
      await openPage(ana, server, "/approvals?tab=failed");
      await page.getByText(/nobody took box\\u\{202e\}\\u\{200b\} <img/).waitFor();
      const aside = await checkPage(ana, "what was set aside");
      await page.getByRole("button", { name: "Dismiss", exact: true }).click();
      await expectText(page, "No failed calls");
      return [...found, ...aside];
    },
  },
  {
    name: "O-3 hostile text is shown and does nothing: no markup, no request, no link that opens unasked, nothing wider than the page, no page that hangs",
    async run({ server, ana }) {
      const { page } = ana;
      await startConversation(ana, server, "stage", "show me something hostile");
      await expectText(page, /completed/);
      await page.getByRole("button", { name: "Arguments, result, evidence" }).first().click();
      await waitUntilSettled(ana);
      const title = await page.title();
      const made = await page.locator("main :is(img, iframe, script, style, a[href*=evil], a[href^=javascript], a[href^='http'])").count();
      await page.getByRole("button", { name: "the bank" }).click();
      await page.getByRole("dialog").getByText("https://evil.example/login").waitFor();
      await page.getByRole("button", { name: "Stay here" }).click();
      const shown = (await page.locator("main").textContent()) ?? "";
      const found = [...(await checkPage(ana, "hostile content"))];
      const flood = await execute(ana, server, { agent: "stage", input: `flood it ${"w".repeat(100_000)}` });
      await openPage(ana, server, `/chat/${flood.session}`);
      const told = page.getByRole("region", { name: "Conversation" });
      await told.getByText("completed").waitFor();
      await page.evaluate("document.querySelector('section[aria-label=Conversation]').scrollTop = 0");
      await page.getByRole("button", { name: "Arguments, result, evidence" }).click();
      await expectText(page, /more characters are in the journal/);
      found.push(...(await checkPage(ana, "a line of a hundred thousand letters")));
      return [
        ...violationUnless(title.includes("Orgate"), `the title became ${title}`),
        ...violationUnless(made === 0, `${made} elements were made of it`),
        ...violationUnless(!/[\u202e\u2066\u200b\u001b\u0007]/.test(shown), "a hidden character is on the page as itself"),
        ...found,
      ];
    },
  },
];
