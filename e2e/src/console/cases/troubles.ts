/** Cases of the suite `console` in which something goes wrong outside the page: the sign-in, the server, the line. */
import type { Route } from "playwright-core";
import { go, misfits, sound } from "../kit.ts";
import { signOut } from "../seed.ts";
import { type Case, composer, expectText, PNG, say, updated, wrong } from "./case.ts";

export const TROUBLES: readonly Case[] = [
  {
    name: "O-1 a link signs in once, where one is; used again it says so, and signing out ends it",
    async run({ browser, desk }) {
      const context = await browser.newContext();
      const page = await context.newPage();
      const link = await desk.link("bo");
      await page.goto(`${desk.url()}/approvals`);
      await page.getByRole("heading", { name: "Orgate" }).waitFor();
      await page.getByLabel("Sign-in link").fill(link);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Approvals" }).waitFor();
      const stayed = page.url().endsWith("/approvals");
      await page.getByRole("button", { name: "bo" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByLabel("Sign-in link").waitFor();
      await page.goto(link);
      await page.getByText(/link/i).first().waitFor();
      const isOut = await page.getByLabel("Sign-in link").isVisible();
      const keeps = page.url().includes("#");
      await context.close();
      return [
        ...wrong(stayed, "signing in led elsewhere"),
        ...wrong(isOut, "a link worked twice"),
        ...wrong(!keeps, "the secret stayed in the address"),
      ];
    },
  },
  {
    name: "O-5 the server is killed and started again, with another build of the console: the page says so, stays as it was, and goes on from there with nothing missing or doubled",
    async run({ desk, ana }) {
      const { page } = ana;
      await say(ana, desk, "stage", "pay frank");
      await page.getByRole("button", { name: "Approve once" }).waitFor();
      await desk.kill();
      await expectText(page, "Reconnecting…");
      const tells = await updated(ana);
      const stays = await page.getByRole("article", { name: "Approval request for pay" }).isVisible();
      await desk.start();
      await expectText(page, "Live");
      await page.getByRole("button", { name: "Updated: reload" }).waitFor();
      await page.getByRole("button", { name: "Approve once" }).click();
      await expectText(page, "1250 cents paid to frank");
      const old = await sound(ana, "a page that is older than its server");
      await tells();
      const cards = await page.getByRole("article", { name: "Call of pay" }).count();
      const said = await page.getByRole("region", { name: "Conversation" }).getByText("pay frank", { exact: true }).count();
      return [
        ...wrong(stays, "the page went blank"),
        ...wrong(cards === 1 && said === 1, `${cards} cards, said ${said} times`),
        ...old.filter((one) => !one.includes("status of 404")),
      ];
    },
  },
  {
    name: "O-7 a sign-in that ends while something is being written: it is said, and after signing in again one is where one was, with every word and file; a screen that the server has no more says so, and how to go on",
    async run({ desk, ana }) {
      const { page } = ana;
      const place = await say(ana, desk, "stage", "pay kim");
      await page.getByRole("button", { name: "Deny" }).click();
      await page.getByLabel(/Why not/).fill("kim is on leave, and");
      await composer(page).fill("while you wait");
      await page.locator("input[type=file]").setInputFiles({ name: "red.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") });
      const chosen = page.getByRole("list", { name: "Files to be sent" });
      await chosen.getByText(/^red\.png/).waitFor();
      await signOut(ana, desk);
      await expectText(page, "you come back to where you were");
      const out = await sound(ana, "a sign-in that has ended");
      await page.getByLabel("Sign-in link").fill(await desk.link("ana"));
      await page.getByRole("button", { name: "Sign in" }).click();
      const kept = [
        await page.getByLabel(/Why not/).inputValue(),
        await composer(page).inputValue(),
        String(await chosen.getByText(/^red\.png/).count()),
        new URL(page.url()).pathname,
      ].join(" | ");
      await page.getByRole("button", { name: "Deny", exact: true }).click();
      await expectText(page, /That did not work: .*kim is on leave, and/);

      const tells = await updated(ana);
      await page.getByRole("link", { name: "Fleet" }).first().click();
      await expectText(page, "This screen could not be shown");
      const gone = await misfits(ana);
      ana.errors(); // of each part that is gone
      await tells();
      await page.getByRole("button", { name: "Reload the page" }).click();
      await page.getByRole("heading", { name: "Fleet" }).waitFor();
      await go(ana, desk, place);
      await composer(page).waitFor();
      const again = await composer(page).inputValue();
      await composer(page).fill("");
      return [
        ...wrong(kept === `kim is on leave, and | while you wait | 1 | ${place}`, `signing in again leads to ${kept}`),
        ...wrong(again === "while you wait", `loading the page again leaves ${JSON.stringify(again)}`),
        ...out.filter((one) => !one.includes("status of 401")),
        ...gone,
      ];
    },
  },
  {
    name: "O-7 over a slow line that loses every first request to the server the screens come all the same, by themselves",
    async run({ desk, ana }) {
      const { page, context } = ana;
      const line = await context.newCDPSession(page);
      await line.send("Network.emulateNetworkConditions", {
        offline: false,
        latency: 150,
        downloadThroughput: 200_000,
        uploadThroughput: 50_000,
      });
      const lost = new Set<string>();
      const loses = async (route: Route): Promise<void> => {
        const url = route.request().url();
        if (lost.has(url)) return route.continue();
        lost.add(url);
        await route.abort("connectionreset");
      };
      await page.route("**/api/v1/**", loses);
      await page.goto(`${desk.url()}/approvals`);
      await page.getByRole("heading", { name: "Approvals" }).waitFor();
      await page.getByRole("link", { name: "Fleet" }).first().click();
      await page.getByRole("heading", { name: "stage", exact: true }).waitFor();
      const found = await sound(ana, "the fleet over a bad line");
      await page.unroute("**/api/v1/**");
      await line.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
      await line.detach();
      return [...wrong(lost.size > 5, `only ${lost.size} requests were lost`), ...found];
    },
  },
];
