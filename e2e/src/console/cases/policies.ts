/** Cases of the suite `console-watch`: policy files, their history, drafts and test decisions. */
import { comesTo, go, reached, settled, sound } from "../kit.ts";
import { type WatchCase, wrong } from "./case.ts";

export const POLICIES: readonly WatchCase[] = [
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
      await page.getByText("The draft loads, and every decision table passes.").waitFor();
      await page.getByRole("button", { name: "Apply", exact: true }).click();
      await page.getByRole("button", { name: "Edit a draft" }).waitFor();
      await page.getByRole("tab", { name: "History" }).click();
      const list = page.getByRole("list", { name: "Sets of policies, newest first" });
      const trial = list.getByRole("listitem").filter({ hasText: "a trial" });
      await trial.waitFor();
      const found = [...(await sound(ana, "history of policies")), ...(await reached(ana, "history of policies"))];
      await list.getByRole("listitem").last().getByRole("button").click();
      await page.getByRole("heading", { name: "From this set to the current files" }).waitFor();
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
      await page.getByText(/^\d+ problems?$/).waitFor();
      await settled(ana);
      const isHeld = await page.getByRole("button", { name: "Apply" }).isDisabled();
      const draft = await sound(ana, "a draft");
      await go(ana, desk, "/policies?show=cases");
      await page.getByText("passes").first().waitFor();
      const tables = [...(await sound(ana, "decision tables")), ...(await reached(ana, "decision tables"))];
      await page.getByRole("tab", { name: "Files" }).click();
      await page.getByRole("button", { name: /^desk\.cedar.*draft$/ }).click();
      await page.getByRole("button", { name: "Continue the draft" }).click();
      const keeps = await comesTo(
        async () => (await editor.textContent()) ?? "",
        (now) => now.includes("permit(nonsense); // gaps"),
      );
      await page.getByRole("button", { name: "Discard the draft" }).click();
      await page.getByRole("button", { name: "Edit a draft" }).waitFor();
      const known = Promise.withResolvers<void>();
      await page.route("**/api/v1/agents/billing", (route) => known.promise.then(() => route.continue()));
      await page.goto(`${desk.url()}/policies?show=evaluate&agent=billing`);
      await comesTo(
        () => page.getByLabel("Action", { exact: true }).inputValue(),
        (now) => now === "tool:find_charge",
      );
      const isEarly = await page.getByLabel("Arguments (JSON)").isEnabled();
      known.resolve();
      await page.getByLabel("Arguments (JSON)").fill('{"charge": "ch_1"}');
      await page.getByRole("button", { name: "Decide", exact: true }).click();
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
];
