/** Cases of the suite `console-watch`: the journal, cost and health. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Violation, verifyExport } from "../../checks.ts";
import { checkKeyboard, checkPage, openPage, waitUntilSettled } from "../kit.ts";
import { violationUnless, type WatchCase } from "./case.ts";

export const RECORDS: readonly WatchCase[] = [
  {
    name: "O-9 a verification of the journal shows progress and head; the exported file verifies; entries are found by verdict, tool and person, and each has an address, also outside sessions",
    async run({ server, ana, phone }) {
      const { page } = ana;
      await openPage(ana, server, "/journal");
      await page.getByRole("button", { name: "Verify the journal" }).click();
      await page.getByText("intact").waitFor({ timeout: 60_000 });
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export the journal" }).click()]);
      const exported = verifyExport(readFileSync(await download.path(), "utf8"), join(server.root, ".orgate"));
      const entries = page.getByRole("region", { name: "Entries" });
      await page.getByLabel("Verdict").selectOption("deny");
      await page.getByLabel("Tool").fill("refund");
      await page.waitForURL(/verdict=deny.*tool=refund/);
      await entries
        .getByText(/more than 200.00 is not paid back/)
        .first()
        .waitFor();
      await waitUntilSettled(ana);
      const others = await entries.getByText(/^allowed/).count();
      const found: Violation[] = [...(await checkPage(ana, "the journal")), ...(await checkKeyboard(ana, "the journal"))];
      await openPage(ana, server, "/journal?kind=work.halted");
      await entries
        .getByRole("link", { name: /^halt · \d+$/ })
        .first()
        .click();
      await page.waitForURL(/\/journal\/halt\/\d+$/);
      await page.reload();
      await page.getByText("the mail loop").first().waitFor(); // the newest of them
      await ana.context.grantPermissions(["clipboard-read", "clipboard-write"]);
      await page.getByRole("button", { name: "Copy the hash" }).click();
      await page.getByText("The hash is copied").waitFor();
      const copied = await page.evaluate<string>("navigator.clipboard.readText()");
      const halt: unknown = await (
        await ana.context.request.get(`${server.url()}/api/v1/journal/entries/halt/${page.url().split("/").at(-1)}`)
      ).json();
      found.push(...(await checkPage(ana, "an entry")), ...(await checkKeyboard(ana, "an entry")));
      await openPage(ana, server, "/journal?person=bo");
      await entries
        .getByText(/user:bo answered/)
        .first()
        .waitFor();
      await openPage(ana, server, "/journal?label=nothing-like-it");
      await page.getByText("No entry matches").waitFor();
      await openPage(phone, server, "/journal?verdict=deny");
      await phone.page
        .getByText(/^denied/)
        .first()
        .waitFor();
      return [
        ...violationUnless(JSON.stringify(halt).includes(`"entryHash":"${copied}"`), `what was copied is ${copied}`),
        ...exported,
        ...violationUnless(others === 0, "what was allowed is among what was denied"),
        ...found,
        ...(await checkPage(phone, "the journal on a phone")),
      ];
    },
  },
  {
    name: "O-6 cost by agent, model and day; health; both also on a phone",
    async run({ server, ana, phone }) {
      const found: Violation[] = [];
      for (const person of [ana, phone]) {
        await openPage(person, server, "/cost?days=7");
        await person.page.getByRole("img", { name: /^Cost by day/ }).waitFor();
        await waitUntilSettled(person);
        const rows = await person.page.getByRole("row").filter({ hasText: "offline/billing" }).count();
        found.push(
          ...violationUnless(rows === 1, `${rows} rows for one model`),
          ...(await checkPage(person, "cost")),
          ...(await checkKeyboard(person, "cost")),
        );
        await openPage(person, server, "/health");
        await person.page.getByText("The server is healthy.").waitFor();
        await person.page.getByText("journal-write").waitFor();
        found.push(...(await checkPage(person, "health")), ...(await checkKeyboard(person, "health")));
      }
      return found;
    },
  },
];
