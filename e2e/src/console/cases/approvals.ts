/** Cases of the suite `console`: approval requests and their answers. */
import type { Violation } from "../../checks.ts";
import {
  blur,
  checkKeyboard,
  checkPage,
  DESKTOP,
  findMisfits,
  openPage,
  pollUntil,
  pressKeys,
  signIn,
  waitForFocus,
  waitUntilSettled,
} from "../kit.ts";
import { type Case, composer, expectText, startConversation, violationUnless } from "./case.ts";

export const APPROVALS: readonly Case[] = [
  {
    name: "O-4 O-10 V-1 approve by keyboard alone: the exact action is shown, hidden characters escaped also in the editor; Escape leads back; one key approves, held down or not",
    async run({ server, ana }) {
      const { page } = ana;
      const place = await startConversation(ana, server, "stage", "pay alice");
      await page.getByRole("article", { name: "Approval request for pay" }).getByRole("button", { name: "Approve once" }).waitFor();
      await page.locator("main").focus();
      await page.keyboard.press("Escape");
      await blur(ana);
      await pressKeys(ana, "g", "a");
      await page.getByRole("heading", { name: "Approvals" }).waitFor();
      await page.getByRole("region", { name: "The request" }).getByRole("button", { name: "Approve once" }).waitFor();
      await waitUntilSettled(ana);
      const marks = await page.locator("mark").allTextContents();
      const found = [...(await checkPage(ana, "the inbox")), ...(await checkKeyboard(ana, "the inbox"))];
      await blur(ana);
      await page.keyboard.press("e");
      const edited = await page.getByLabel(/Arguments to approve/).inputValue();
      await page.keyboard.press("Escape");
      const back = await waitForFocus(ana, "Edit and approve");
      await page.keyboard.press("r");
      await page.getByLabel("exactly this call").waitFor();
      const radio = await waitForFocus(ana, "scope");
      await page.keyboard.press("Escape");
      await waitForFocus(ana, "Approve and remember");
      const isHeld = await page.evaluate<boolean>(`(async () => {
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "a", repeat: true, bubbles: true, composed: true }));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        return document.querySelector("main [aria-busy]") === null;
      })()`);
      await page.keyboard.press("a");
      await expectText(page, "Approved once");
      await openPage(ana, server, place);
      await expectText(page, "1250 cents paid to alice");
      return [
        ...violationUnless(marks.join(" ") === "\\u{202e} \\u{200b}", `hidden characters are shown as ${JSON.stringify(marks)}`),
        ...violationUnless(edited.includes("for\\u202egnp.exe and\\u200b more"), `what is edited reads ${JSON.stringify(edited)}`),
        ...violationUnless(back === "Edit and approve", `Escape leads to ${JSON.stringify(back)}`),
        ...violationUnless(radio === "scope", `what may be remembered begins at ${JSON.stringify(radio)}`),
        ...violationUnless(isHeld, "a key that is held down answers"),
        ...found,
      ];
    },
  },
  {
    name: "O-4 O-10 deny with a reason, edit and approve: the agent sees the reason, and the edited call runs",
    async run({ server, ana }) {
      const { page } = ana;
      await startConversation(ana, server, "stage", "pay mallory");
      await page.getByRole("button", { name: "Deny" }).click();
      await page.getByLabel(/Why not/).fill("mallory is not known here");
      await page.getByRole("button", { name: "Deny", exact: true }).click();
      await expectText(page, /That did not work: .*mallory is not known here/);
      await startConversation(ana, server, "stage", "pay bob");
      await page.getByRole("button", { name: "Edit and approve" }).click();
      const field = page.getByLabel(/Arguments to approve/);
      await field.fill("[]");
      const isHeld = await pollUntil(() => page.getByRole("button", { name: "Approve as edited" }).isDisabled(), Boolean);
      await field.fill('{"to": "bob", "cents": 99}');
      await page.getByRole("button", { name: "Approve as edited" }).click();
      await expectText(page, "99 cents paid to bob");
      return [...violationUnless(isHeld, "arguments that are no object could be sent"), ...ana.errors()];
    },
  },
  {
    name: "O-4 approve and remember: not asked again, listed with who gave it, revoked with a reason, then asked again",
    async run({ server, ana }) {
      const { page } = ana;
      const place = await startConversation(ana, server, "stage", "pay carol");
      await page.getByRole("button", { name: "Approve and remember" }).click();
      await page.getByLabel("this tool, with any arguments").check();
      await page.getByLabel("for this session").check();
      await page.getByRole("button", { name: "Approve and remember" }).click();
      await expectText(page, "1250 cents paid to carol");
      await page.getByRole("button", { name: "Send" }).waitFor(); // the turn has ended: the next message starts another
      await composer(page).fill("pay dora");
      await composer(page).press("Enter");
      await expectText(page, "1250 cents paid to dora");
      await openPage(ana, server, "/approvals?tab=grants");
      const found = [...(await checkPage(ana, "grants")), ...(await checkKeyboard(ana, "grants"))];
      await page.getByRole("button", { name: "Revoke" }).click();
      await page.getByLabel(/^Why/).fill("the incident is over");
      await page.getByRole("button", { name: "Revoke it" }).click();
      await expectText(page, "No grants");
      await openPage(ana, server, place);
      await composer(page).fill("pay erin");
      await composer(page).press("Enter");
      await page.getByRole("button", { name: "Approve once" }).waitFor();
      await page.getByRole("button", { name: "Cancel" }).click();
      await expectText(page, "cancelled");
      return found;
    },
  },
  {
    name: "O-5 O-4 two operators at once: both see a request, one answers, and the other sees at once who did; where two must approve, the first sees that one is missing; a long text can be read whole, in a low window too",
    async run({ browser, server, ana }) {
      const bo = await signIn(browser, server, "bo");
      const place = await startConversation(ana, server, "stage", "pay grace");
      await openPage(bo, server, "/approvals");
      await bo.page.getByRole("region", { name: "The request" }).getByRole("button", { name: "Approve once" }).waitFor();
      await openPage(bo, server, place);
      await bo.page.getByRole("button", { name: "Approve once" }).click();
      await ana.page.getByText("1250 cents paid to grace").first().waitFor();
      const by = await pollUntil(
        () => ana.page.getByRole("article", { name: "Approval request for pay" }).textContent(),
        (now) => /approved/.test(now ?? ""),
      );

      const large = await startConversation(ana, server, "stage", "transfer to zoe");
      const card = ana.page.getByRole("article", { name: "Approval request for transfer" });
      await card.getByRole("button", { name: /^Show the other/ }).click();
      await card.getByText(/and to mallory/).waitFor();
      const forms: Violation[] = [];
      for (const name of ["Edit and approve", "Approve and remember"]) {
        await card.getByRole("button", { name }).click();
        forms.push(...(await checkPage(ana, name)));
        await ana.page.keyboard.press("Escape");
      }
      await ana.page.setViewportSize({ width: 320, height: 256 });
      forms.push(...(await findMisfits(ana)));
      const told = (await ana.page.getByRole("region", { name: "Conversation" }).boundingBox())?.height ?? 0;
      await ana.page.setViewportSize(DESKTOP);
      await card.getByRole("button", { name: "Approve once" }).click();
      await expectText(ana.page, "Your approval is counted");
      await card.getByText(/1 of 2 approved: ana/).waitFor();
      const again = await card.getByRole("button", { name: /^Approve/ }).count();
      await openPage(bo, server, large);
      await bo.page.getByRole("button", { name: "Approve once" }).click();
      await ana.page.getByText("7000 cents moved to zoe").first().waitFor();
      const found = [
        ...violationUnless(/bo/.test(by ?? "") && /approved/.test(by ?? ""), `the other is told: ${by}`),
        ...violationUnless(told >= 150, `a low window leaves ${told} px of a conversation`),
        ...violationUnless(again === 0, "whoever has said yes is asked again"),
        ...forms,
        ...bo.errors(),
        ...ana.errors(),
      ];
      await bo.context.close();
      return found;
    },
  },
];
