/** Cases of the suite `console-watch`: one session, entry by entry. */
import type { Violation } from "../../checks.ts";
import { blur, checkKeyboard, checkPage, openPage, pollUntil, waitUntilSettled } from "../kit.ts";
import { execute } from "../seed.ts";
import { violationUnless, type WatchCase } from "./case.ts";

export const SESSIONS: readonly WatchCase[] = [
  {
    name: "O-10 the keyboard steps through a session, whose list is one stop: by entry, by turn, its state and its raw form; the address names the entry",
    async run({ server, ana }) {
      const { page } = ana;
      await openPage(ana, server, "/sessions?agent=billing");
      await page.getByRole("link", { name: /s_past100000/ }).click();
      await page.getByText(/^State at/).waitFor();
      await page.getByRole("img", { name: /^Timeline: / }).waitFor();
      const found = [...(await checkPage(ana, "a session")), ...(await checkKeyboard(ana, "a session"))];
      await openPage(ana, server, "/sessions/s_past100000?at=1");
      await page.getByText("State at 1", { exact: true }).waitFor();
      await blur(ana);
      for (const key of ["j", "j", "n", "k", "j", "j"]) await page.keyboard.press(key);
      const at = await page.evaluate<number>("Number(new URL(location.href).searchParams.get('at'))");
      await page.getByText(`State at ${at}`, { exact: true }).waitFor();
      await page.keyboard.press("e");
      await page.getByText("Sealed by").waitFor();
      const hash = await page
        .locator("dd code")
        .filter({ hasText: /^[0-9a-f]{64}$/ })
        .first()
        .textContent();
      const stored: unknown = await (await ana.context.request.get(`${server.url()}/api/v1/sessions/s_past100000/entries/${at}`)).json();
      const raw = [...(await checkPage(ana, "a raw entry"))];
      const code = page.getByRole("textbox", { name: "Payload of the entry" });
      const coloured = await pollUntil(
        () =>
          code
            .locator("span[class]")
            .filter({ hasText: /^"\w+"$/ })
            .count(),
        (now) => now > 0,
      );
      const isFixed = (await code.getAttribute("contenteditable")) === "false";
      raw.push(...(await checkKeyboard(ana, "a raw entry")));
      await page.getByRole("region", { name: "Entries" }).focus();
      for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"]) await page.keyboard.press(key);
      await page.waitForURL(new RegExp(`at=${at + 1}&`));
      return [
        ...violationUnless(coloured > 0, "the code has no colours"),
        ...violationUnless(isFixed, "what is stored can be typed over"),
        ...violationUnless(at > 4, `the keys led to entry ${at}`),
        ...violationUnless(JSON.stringify(stored).includes(`"entryHash":"${hash}"`), "the hash on the page is another than the journal's"),
        ...found,
        ...raw,
      ];
    },
  },
  {
    name: "a fork continues from the current entry, and the origin is unchanged",
    async run({ server, ana }) {
      const { page } = ana;
      const { session } = await execute(ana, server, { agent: "stage", input: "what do you know?" });
      await execute(ana, server, { agent: "stage", input: "edit the note", session });
      const before = await (await ana.context.request.get(`${server.url()}/api/v1/sessions/${session}`)).text();
      await openPage(ana, server, `/sessions/${session}?at=12`);
      await page.getByRole("button", { name: "Fork from here" }).click();
      await page.waitForURL(/\/chat\/s_/);
      const fork = page.url().split("/").at(-1) ?? "";
      const after = await (await ana.context.request.get(`${server.url()}/api/v1/sessions/${session}`)).text();
      return [
        ...violationUnless(fork !== session, "it led to the session itself"),
        ...violationUnless(before === after, "the origin has changed"),
        ...ana.errors(),
      ];
    },
  },
  {
    name: "a session of ten thousand entries: at most 600 elements, at its start, its middle and its end, and on a phone",
    async run({ server, ana, phone, long }) {
      const found: Violation[] = [];
      for (const [person, places] of [
        [ana, ["?at=1", "?at=9999&show=entry"]],
        [phone, ["?at=5000"]],
      ] as const)
        for (const at of places) {
          await openPage(person, server, `/sessions/${long}${at}`);
          await person.page.getByText(/ of 100\d\d$/).waitFor();
          await waitUntilSettled(person);
          const nodes = await person.page.evaluate<number>("document.querySelectorAll('*').length");
          found.push(...violationUnless(nodes <= 600, `${nodes} elements at ${at}`));
        }
      const line = phone.page.locator("button[aria-current=true]");
      const lines = await pollUntil(
        () => line.count(),
        (now) => now === 1,
      );
      found.push(...violationUnless(lines === 1, "the entry that one stands at is not on the page"));
      return [...found, ...(await checkPage(ana, "a long session")), ...(await checkPage(phone, "a long session on a phone"))];
    },
  },
  {
    name: "O-3 hostile text does nothing in the timeline, the entries, the state and the raw form",
    async run({ server, ana, hostile }) {
      const { page } = ana;
      const found: Violation[] = [];
      for (const show of ["state", "entry"]) {
        await openPage(ana, server, `/sessions/${hostile}?show=${show}`);
        await page.getByRole("img", { name: /^Timeline: / }).waitFor();
        await waitUntilSettled(ana);
        const made = await page.locator("main :is(img, iframe, script, style, a[href^='http'], a[href^=javascript])").count();
        const shown = (await page.locator("main").textContent()) ?? "";
        found.push(...violationUnless(made === 0, `${made} elements were made of it`));
        found.push(...violationUnless(!/[\u202e\u2066\u200b\u001b\u0007]/.test(shown), "a hidden character is on the page as itself"));
        found.push(...violationUnless((await page.title()).includes("Orgate"), "the title was changed"));
        found.push(...(await checkPage(ana, `hostile, ${show}`)));
      }
      return found;
    },
  },
];
