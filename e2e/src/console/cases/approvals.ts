/** Cases of the suite `console`: approval requests and their answers. */
import type { Violation } from "../../checks.ts";
import { blur, chord, comesTo, DESKTOP, enter, focused, go, misfits, reached, settled, sound } from "../kit.ts";
import { type Case, composer, expectText, say, wrong } from "./case.ts";

export const APPROVALS: readonly Case[] = [
  {
    name: "O-4 O-10 V-1 approve, by keyboard alone: the exact action is there, hidden characters escaped also where it is edited; Escape leads back to where one was; one key approves it, held down or not",
    async run({ desk, ana }) {
      const { page } = ana;
      const place = await say(ana, desk, "stage", "pay alice");
      await page.getByRole("article", { name: "Approval request for pay" }).getByRole("button", { name: "Approve once" }).waitFor();
      await page.locator("main").focus();
      await page.keyboard.press("Escape");
      await blur(ana);
      await chord(ana, "g", "a");
      await page.getByRole("heading", { name: "Approvals" }).waitFor();
      await page.getByRole("region", { name: "The request" }).getByRole("button", { name: "Approve once" }).waitFor();
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
      await page.getByLabel("this tool, with any arguments").check();
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
      await expectText(page, "No grants");
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
    name: "O-5 O-4 two operators at once: both see a question, one answers, and the other sees at once who did; where two must say yes, the first is told so and the whole of a long text can be read, in a low window too",
    async run({ browser, desk, ana }) {
      const bo = await enter(browser, desk, "bo");
      const place = await say(ana, desk, "stage", "pay grace");
      await go(bo, desk, "/approvals");
      await bo.page.getByRole("region", { name: "The request" }).getByRole("button", { name: "Approve once" }).waitFor();
      await go(bo, desk, place);
      await bo.page.getByRole("button", { name: "Approve once" }).click();
      await ana.page.getByText("1250 cents paid to grace").first().waitFor();
      const by = await comesTo(
        () => ana.page.getByRole("article", { name: "Approval request for pay" }).textContent(),
        (now) => /approved/.test(now ?? ""),
      );

      const large = await say(ana, desk, "stage", "transfer to zoe");
      const card = ana.page.getByRole("article", { name: "Approval request for transfer" });
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
      await expectText(ana.page, "Your approval is counted");
      await card.getByText(/1 of 2 approved: ana/).waitFor();
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
];
