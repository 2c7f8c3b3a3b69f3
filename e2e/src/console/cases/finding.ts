/** Cases of the suite `console`: titles, search, and limits of the server's machine. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { checkPage, openPage } from "../kit.ts";
import { type Case, expectText, startConversation, violationUnless } from "./case.ts";

const finder = (page: Page): Locator => page.getByRole("combobox", { name: /^Find a screen/ });
const offered = (page: Page, text: string | RegExp): Locator => page.getByRole("option", { name: text }).first();

const TOOL = '[tool]\nname = "say_hi"\nversion = "1.0.0"\nbinary = "echo"\ndescription = "Says hi."\n\n[command]\ntemplate = "echo hi"\n';
const AGENT = 'name = "greeter"\ninstructions = "Greet."\nmodel = "offline/echo"\ntools = ["say_hi"]\n';

export const FINDING: readonly Case[] = [
  {
    name: "J-8 a session is titled by its first message, and found by that, by later messages, and by the id that Sessions shows; a policy by its id and its file",
    async run({ server, ana }) {
      const { page } = ana;
      const place = await startConversation(ana, server, "stage", "tally the quokkas\nand the wombats too");
      await openPage(ana, server, "/sessions");
      const row = page.getByRole("link", { name: /tally the quokkas/ });
      const listed = (await row.textContent()) ?? "";
      const id = (await row.locator("code").textContent()) ?? "";
      await page.getByLabel("Title, person or id").fill("quokkas");
      await page.waitForURL(/text=quokkas/);
      const fitting = await page.getByRole("link", { name: /turns?,/ }).count();
      const found = [...(await checkPage(ana, "sessions with titles"))];
      await row.click();
      await expectText(page, "tally the quokkas");
      await page.keyboard.press("Control+k");
      for (const text of ["quokkas tally", "wombats too", id.slice(0, 14)]) {
        await finder(page).fill(text);
        await offered(page, /tally the quokkas/).waitFor();
      }
      found.push(...(await checkPage(ana, "what was found")));
      await finder(page).fill("desk.cedar");
      await offered(page, /Policy desk\/no-large-refunds/).waitFor();
      await finder(page).fill("policy desk/refund");
      await offered(page, /Policy desk\/refund/).waitFor();
      await finder(page).press("Enter");
      await page.waitForURL(/\/policies\?policy=desk%2Frefund/);
      await page.keyboard.press("Control+k");
      await finder(page).fill("wombats too");
      await offered(page, /tally the quokkas/).click();
      await page.waitForURL((url) => url.pathname === place);
      return [
        ...violationUnless(/^s_/.test(id), `Sessions shows the id ${id}`),
        ...violationUnless(!listed.includes("wombats"), `a title has more than the first line: ${listed}`),
        ...violationUnless(fitting === 1, `${fitting} sessions are about quokkas`),
        ...found,
      ];
    },
  },
  {
    name: "the kind filter lists all kinds, is part of the address, and keeps a kind that this version does not know",
    async run({ server, ana }) {
      const { page } = ana;
      await openPage(ana, server, "/journal");
      const kind = page.getByLabel("Kind", { exact: true });
      await kind.selectOption("policy.loaded");
      await page.waitForURL(/kind=policy\.loaded/);
      const found = await checkPage(ana, "entries of one kind");
      await openPage(ana, server, "/journal?kind=policy.loaded");
      const kinds = await page.getByRole("region", { name: "Entries" }).innerText();
      const chosen = await kind.inputValue();
      const groups = await kind.locator("optgroup").count();
      await openPage(ana, server, "/journal?kind=thing.unheard-of");
      const strange = await kind.inputValue();
      return [
        ...violationUnless(chosen === "policy.loaded", `the address chooses ${chosen}`),
        ...violationUnless(kinds.includes("policy.loaded") && !kinds.includes("turn.started"), `entries of one kind are ${kinds}`),
        ...violationUnless(groups > 10, `${groups} groups of kinds`),
        ...violationUnless(strange === "thing.unheard-of", `a kind that is not known is shown as ${strange}`),
        ...found,
      ];
    },
  },
  {
    name: "T-31 Health says that tools cannot run programs on the server's machine, and the command that fixes it",
    async run({ server, ana }) {
      const { page } = ana;
      const [tools, agent] = [join(server.root, "tools"), join(server.root, "agents", "greeter.toml")];
      mkdirSync(tools, { recursive: true });
      writeFileSync(join(tools, "say_hi.clad.toml"), TOOL);
      writeFileSync(agent, AGENT);
      try {
        await server.kill();
        await server.start({ PATH: "/nowhere" });
        await openPage(ana, server, "/health");
        const limited = page.getByRole("list", { name: "Checks" }).getByRole("listitem").filter({ hasText: "limited" });
        const says = await limited.innerText();
        const isWell = await page.getByText("The server is healthy.").count();
        return [
          ...violationUnless(
            /[Tt]ools cannot run programs .*bubblewrap is not installed.*apt install bubblewrap/s.test(says),
            `Health says ${says}`,
          ),
          ...violationUnless(isWell === 1, "a server without a sandbox is said not to be well"),
          ...(await checkPage(ana, "health without a sandbox")),
        ];
      } finally {
        rmSync(join(tools, "say_hi.clad.toml"));
        rmSync(agent);
        await server.kill();
        await server.start();
      }
    },
  },
];
