/** Cases of the suite `console-watch`: policy files, their history, drafts and test decisions. */
import { checkKeyboard, checkPage, openPage, pollUntil, waitUntilSettled } from "../kit.ts";
import { violationUnless, type WatchCase } from "./case.ts";

export const POLICIES: readonly WatchCase[] = [
  {
    name: "the history of policies: an old set, its difference to now, and applying it again with a reason",
    async run({ server, ana }) {
      const { page } = ana;
      await openPage(ana, server, "/policies?policy=desk/find-charges");
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
      const found = [...(await checkPage(ana, "history of policies")), ...(await checkKeyboard(ana, "history of policies"))];
      await list.getByRole("listitem").last().getByRole("button").click();
      await page.getByRole("heading", { name: "From this set to the current files" }).waitFor();
      await page.getByText("// tried for a day").first().waitFor();
      const one = [...(await checkPage(ana, "a set of policies")), ...(await checkKeyboard(ana, "a set of policies"))];
      await page.getByRole("button", { name: "Apply it again" }).click();
      await page.getByRole("dialog").getByLabel("Why").fill("the trial is over");
      const dialog = await checkPage(ana, "applying a set again");
      await page.getByRole("dialog").getByRole("button", { name: "Apply" }).click();
      await list.getByRole("listitem").filter({ hasText: "the trial is over" }).waitFor();
      return [...found, ...one, ...dialog, ...ana.errors()];
    },
  },
  {
    name: "O-8 O-7 policies: keys typed into a draft are no shortcuts, hidden characters are shown, and the draft is kept; an error is shown in its line and cannot be applied; tables pass; a test decision names its policy",
    async run({ server, ana }) {
      const { page } = ana;
      await openPage(ana, server, "/policies?policy=desk/find-charges");
      await page.getByRole("heading", { name: "policies/desk.cedar" }).waitFor();
      const found = [...(await checkPage(ana, "policies")), ...(await checkKeyboard(ana, "policies"))];
      await page.getByRole("button", { name: "Edit a draft" }).click();
      const editor = page.getByRole("textbox", { name: "Draft of policies/desk.cedar" });
      await editor.click();
      await page.keyboard.press("Control+Home");
      await page.keyboard.type("permit(nonsense); // gaps, login\u202e\n"); // `g a` and `g i` are shortcuts outside a field
      const mark = await editor.locator("mark").textContent();
      await page.getByRole("button", { name: "Check", exact: true }).click();
      await page.getByText(/^\d+ problems?$/).waitFor();
      await waitUntilSettled(ana);
      const isHeld = await page.getByRole("button", { name: "Apply" }).isDisabled();
      const draft = await checkPage(ana, "a draft");
      await openPage(ana, server, "/policies?show=cases");
      await page.getByText("passes").first().waitFor();
      const tables = [...(await checkPage(ana, "decision tables")), ...(await checkKeyboard(ana, "decision tables"))];
      await page.getByRole("tab", { name: "Files" }).click();
      await page.getByRole("button", { name: /^desk\.cedar.*draft$/ }).click();
      await page.getByRole("button", { name: "Continue the draft" }).click();
      const keeps = await pollUntil(
        async () => (await editor.textContent()) ?? "",
        (now) => now.includes("permit(nonsense); // gaps"),
      );
      await page.getByRole("button", { name: "Discard the draft" }).click();
      await page.getByRole("button", { name: "Edit a draft" }).waitFor();
      const known = Promise.withResolvers<void>();
      await page.route("**/api/v1/agents/billing", (route) => known.promise.then(() => route.continue()));
      await page.goto(`${server.url()}/policies?show=evaluate&agent=billing`);
      await pollUntil(
        () => page.getByLabel("Action", { exact: true }).inputValue(),
        (now) => now === "tool:find_charge",
      );
      const isEarly = await page.getByLabel("Arguments (JSON)").isEnabled();
      known.resolve();
      await page.getByLabel("Arguments (JSON)").fill('{"charge": "ch_1"}');
      await page.getByRole("button", { name: "Decide", exact: true }).click();
      await page.getByRole("link", { name: "desk/find-charges" }).waitFor();
      return [
        ...violationUnless(isHeld, "a set that does not load could be applied"),
        ...violationUnless(!isEarly, "arguments could be typed before they were filled in"),
        ...violationUnless(keeps.includes("permit(nonsense); // gaps"), "a draft is lost by leaving it"),
        ...violationUnless(mark === "\\u{202e}", `what hides in a draft is shown as ${mark}`),
        ...found,
        ...draft,
        ...tables,
        ...(await checkPage(ana, "a decision")),
        ...(await checkKeyboard(ana, "a decision")),
      ];
    },
  },
  {
    name: "G-19 a test decision uses the subject and the time that the form is given, shows what policies read of them, and refuses what is no fact",
    async run({ server, ana }) {
      const { page } = ana;
      await page.goto(`${server.url()}/policies?show=evaluate&agent=stage`);
      await page.getByLabel("Action", { exact: true }).fill("tool:pay");
      const decide = async (facts: string): Promise<void> => {
        await page.getByLabel(/^Facts \(JSON/).fill(facts);
        await page.getByRole("button", { name: "Decide", exact: true }).click();
      };
      const told = (hour: string): string => JSON.stringify({ subject: { id: "A-9" }, now: `2030-01-31T${hour}:00:00Z` });
      await decide("");
      await page.getByRole("link", { name: "stage/pay" }).waitFor();
      await decide(told("23"));
      await page.getByRole("link", { name: "stage/not-at-night" }).waitFor();
      const read = (await page.getByRole("textbox", { name: "Data it read" }).textContent()) ?? "";
      const found = [...(await checkPage(ana, "a decision with facts")), ...(await checkKeyboard(ana, "a decision with facts"))];
      await decide(told("08"));
      await page.getByRole("link", { name: "stage/pay" }).waitFor();
      await decide("[]");
      await page.getByText("The facts are not a JSON object.").waitFor();
      // The browser's own line about the refused request is part of this case: it must not be left to the next one.
      const [refused] = await Promise.all([
        page.waitForEvent("console", (said) => said.type() === "error"),
        decide('{ "subject": { "tier": "gold" } }'),
      ]);
      await page
        .locator("p")
        .filter({ hasText: /subject.*id/ })
        .waitFor();
      await waitUntilSettled(ana);
      return [
        ...violationUnless(refused.text().includes("400"), `the server was to refuse these facts; the browser says ${refused.text()}`),
        ...ana.errors().filter((told) => !told.includes("400")),
        ...violationUnless(/A-9/.test(read) && /"hour": ?23/.test(read), `what was read is shown as ${read}`),
        ...found,
      ];
    },
  },
];
