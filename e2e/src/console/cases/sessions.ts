/** Cases of the suite `console-watch`: one session, entry by entry. */
import type { Violation } from "../../checks.ts";
import { blur, comesTo, go, reached, settled, sound } from "../kit.ts";
import { execute } from "../seed.ts";
import { type WatchCase, wrong } from "./case.ts";

export const SESSIONS: readonly WatchCase[] = [
  {
    name: "O-10 a session is gone through by keyboard, its list being one stop: entry by entry, turn by turn, its state and its raw form; the address says where one is",
    async run({ desk, ana }) {
      const { page } = ana;
      await go(ana, desk, "/sessions?agent=billing");
      await page.getByRole("link", { name: /s_past100000/ }).click();
      await page.getByText(/^State at/).waitFor();
      await page.getByRole("img", { name: /^Timeline: / }).waitFor();
      const found = [...(await sound(ana, "a session")), ...(await reached(ana, "a session"))];
      await go(ana, desk, "/sessions/s_past100000?at=1");
      await page.getByText("State at 1", { exact: true }).waitFor();
      await blur(ana);
      for (const key of ["j", "j", "n", "k", "j", "j"]) await page.keyboard.press(key);
      const at = await page.evaluate<number>("Number(new URL(location.href).searchParams.get('at'))");
      await page.getByText(`State at ${at}`, { exact: true }).waitFor();
      await page.keyboard.press("e");
      await page.getByText("Sealed in").waitFor();
      const hash = await page
        .locator("dd code")
        .filter({ hasText: /^[0-9a-f]{64}$/ })
        .first()
        .textContent();
      const stored: unknown = await (await ana.context.request.get(`${desk.url()}/api/v1/sessions/s_past100000/entries/${at}`)).json();
      const raw = [...(await sound(ana, "a raw entry"))];
      const code = page.getByRole("textbox", { name: "Payload of the entry" });
      const coloured = await comesTo(
        () =>
          code
            .locator("span[class]")
            .filter({ hasText: /^"\w+"$/ })
            .count(),
        (now) => now > 0,
      );
      const isFixed = (await code.getAttribute("contenteditable")) === "false";
      raw.push(...(await reached(ana, "a raw entry")));
      await page.getByRole("region", { name: "Entries" }).focus();
      for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"]) await page.keyboard.press(key);
      await page.waitForURL(new RegExp(`at=${at + 1}&`));
      return [
        ...wrong(coloured > 0, "the code has no colours"),
        ...wrong(isFixed, "what is stored can be typed over"),
        ...wrong(at > 4, `the keys led to entry ${at}`),
        ...wrong(JSON.stringify(stored).includes(`"entryHash":"${hash}"`), "the hash on the page is another than the journal's"),
        ...found,
        ...raw,
      ];
    },
  },
  {
    name: "a fork goes on from the entry that one stands at, and the origin is as it was",
    async run({ desk, ana }) {
      const { page } = ana;
      const { session } = await execute(ana, desk, { agent: "stage", input: "what do you know?" });
      await execute(ana, desk, { agent: "stage", input: "edit the note", session });
      const before = await (await ana.context.request.get(`${desk.url()}/api/v1/sessions/${session}`)).text();
      await go(ana, desk, `/sessions/${session}?at=12`);
      await page.getByRole("button", { name: "Fork from here" }).click();
      await page.waitForURL(/\/chat\/s_/);
      const fork = page.url().split("/").at(-1) ?? "";
      const after = await (await ana.context.request.get(`${desk.url()}/api/v1/sessions/${session}`)).text();
      return [
        ...wrong(fork !== session, "it led to the session itself"),
        ...wrong(before === after, "the origin has changed"),
        ...ana.errors(),
      ];
    },
  },
  {
    name: "a session of ten thousand entries: at most 600 elements, at its start, its middle and its end, and on a phone",
    async run({ desk, ana, phone, long }) {
      const found: Violation[] = [];
      for (const [person, places] of [
        [ana, ["?at=1", "?at=9999&show=entry"]],
        [phone, ["?at=5000"]],
      ] as const)
        for (const at of places) {
          await go(person, desk, `/sessions/${long}${at}`);
          await person.page.getByText(/ of 100\d\d$/).waitFor();
          await settled(person);
          const nodes = await person.page.evaluate<number>("document.querySelectorAll('*').length");
          found.push(...wrong(nodes <= 600, `${nodes} elements at ${at}`));
        }
      const line = phone.page.locator("button[aria-current=true]");
      const lines = await comesTo(
        () => line.count(),
        (now) => now === 1,
      );
      found.push(...wrong(lines === 1, "the entry that one stands at is not on the page"));
      return [...found, ...(await sound(ana, "a long session")), ...(await sound(phone, "a long session on a phone"))];
    },
  },
  {
    name: "O-3 what is hostile is inert in the timeline, the entries, the state and the raw form",
    async run({ desk, ana, hostile }) {
      const { page } = ana;
      const found: Violation[] = [];
      for (const show of ["state", "entry"]) {
        await go(ana, desk, `/sessions/${hostile}?show=${show}`);
        await page.getByRole("img", { name: /^Timeline: / }).waitFor();
        await settled(ana);
        const made = await page.locator("main :is(img, iframe, script, style, a[href^='http'], a[href^=javascript])").count();
        const shown = (await page.locator("main").textContent()) ?? "";
        found.push(...wrong(made === 0, `${made} elements were made of it`));
        found.push(...wrong(!/[\u202e\u2066\u200b\u001b\u0007]/.test(shown), "a hidden character is on the page as itself"));
        found.push(...wrong((await page.title()).includes("Orgate"), "the title was changed"));
        found.push(...(await sound(ana, `hostile, ${show}`)));
      }
      return found;
    },
  },
];
