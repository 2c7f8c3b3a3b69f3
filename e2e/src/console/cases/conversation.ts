/** Cases of the suite `console`: a conversation with an agent. */
import { DESKTOP, go, PHONE, reached, settled, sound, still } from "../kit.ts";
import { execute } from "../seed.ts";
import { type Case, composer, expectText, PNG, say, wrong } from "./case.ts";

export const CONVERSATION: readonly Case[] = [
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
        ...wrong((await page.locator("main :is(img, iframe)").count()) === 0, "an element was made of a file"),
        ...wrong(!shown.includes("\u202e") && (await page.title()).includes("Orgate"), "a file was more than shown"),
        ...(await sound(ana, "files")),
      ];
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
      await expectText(page, "No unknown outcomes");
      await execute(ana, desk, { agent: "stage", input: "deliver box" });
      await go(ana, desk, "/approvals?tab=failed");
      await page.getByText(/nobody took box\\u\{202e\}\\u\{200b\} <img/).waitFor();
      const aside = await sound(ana, "what was set aside");
      await page.getByRole("button", { name: "Dismiss", exact: true }).click();
      await expectText(page, "No failed calls");
      return [...found, ...aside];
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
      await expectText(page, /more characters are in the journal/);
      found.push(...(await sound(ana, "a line of a hundred thousand letters")));
      return [
        ...wrong(title.includes("Orgate"), `the title became ${title}`),
        ...wrong(made === 0, `${made} elements were made of it`),
        ...wrong(!/[\u202e\u2066\u200b\u001b\u0007]/.test(shown), "a hidden character is on the page as itself"),
        ...found,
      ];
    },
  },
];
