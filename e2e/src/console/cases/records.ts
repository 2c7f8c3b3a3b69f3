/** Cases of the suite `console-watch`: the journal, cost and health. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { exportedClean, type Violation } from "../../checks.ts";
import { go, reached, settled, sound } from "../kit.ts";
import { type WatchCase, wrong } from "./case.ts";

export const RECORDS: readonly WatchCase[] = [
  {
    name: "O-9 the journal is verified with its progress and its head; what is exported is a file that proves itself; entries are found by verdict, tool and person, and each has an address, also one that is no session's",
    async run({ desk, ana, phone }) {
      const { page } = ana;
      await go(ana, desk, "/journal");
      await page.getByRole("button", { name: "Verify the journal" }).click();
      await page.getByText("intact").waitFor({ timeout: 60_000 });
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export the journal" }).click()]);
      const exported = exportedClean(readFileSync(await download.path(), "utf8"), join(desk.root, ".orgate"));
      const entries = page.getByRole("region", { name: "Entries" });
      await page.getByLabel("Verdict").selectOption("deny");
      await page.getByLabel("Tool").fill("refund");
      await page.waitForURL(/verdict=deny.*tool=refund/);
      await entries
        .getByText(/more than 200.00 is not paid back/)
        .first()
        .waitFor();
      await settled(ana);
      const others = await entries.getByText(/^allowed/).count();
      const found: Violation[] = [...(await sound(ana, "the journal")), ...(await reached(ana, "the journal"))];
      await go(ana, desk, "/journal?kind=work.halted");
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
        await ana.context.request.get(`${desk.url()}/api/v1/journal/entries/halt/${page.url().split("/").at(-1)}`)
      ).json();
      found.push(...(await sound(ana, "an entry")), ...(await reached(ana, "an entry")));
      await go(ana, desk, "/journal?person=bo");
      await entries
        .getByText(/user:bo answered/)
        .first()
        .waitFor();
      await go(ana, desk, "/journal?label=nothing-like-it");
      await page.getByText("No entry matches").waitFor();
      await go(phone, desk, "/journal?verdict=deny");
      await phone.page
        .getByText(/^denied/)
        .first()
        .waitFor();
      return [
        ...wrong(JSON.stringify(halt).includes(`"entryHash":"${copied}"`), `what was copied is ${copied}`),
        ...exported,
        ...wrong(others === 0, "what was allowed is among what was denied"),
        ...found,
        ...(await sound(phone, "the journal on a phone")),
      ];
    },
  },
  {
    name: "O-6 cost by agent, model and day; health; both also on a phone",
    async run({ desk, ana, phone }) {
      const found: Violation[] = [];
      for (const person of [ana, phone]) {
        await go(person, desk, "/cost?days=7");
        await person.page.getByRole("img", { name: /^Cost by day/ }).waitFor();
        await settled(person);
        const rows = await person.page.getByRole("row").filter({ hasText: "offline/billing" }).count();
        found.push(
          ...wrong(rows === 1, `${rows} rows for one model`),
          ...(await sound(person, "cost")),
          ...(await reached(person, "cost")),
        );
        await go(person, desk, "/health");
        await person.page.getByText("The server is healthy.").waitFor();
        await person.page.getByText("journal-write").waitFor();
        found.push(...(await sound(person, "health")), ...(await reached(person, "health")));
      }
      return found;
    },
  },
];
