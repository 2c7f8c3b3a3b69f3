/** Cases of the suite `console`: sign-in, server and network fail. */
import type { Route } from "playwright-core";
import { checkPage, findMisfits, openPage } from "../kit.ts";
import { signOut } from "../seed.ts";
import { type Case, composer, expectText, PNG, simulateUpdate, startConversation, violationUnless } from "./case.ts";

export const TROUBLES: readonly Case[] = [
  {
    name: "O-1 a link signs in once, at the current address; used again it says so, and signing out ends it",
    async run({ browser, server }) {
      const context = await browser.newContext();
      const page = await context.newPage();
      const link = await server.link("bo");
      await page.goto(`${server.url()}/approvals`);
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
        ...violationUnless(stayed, "signing in led elsewhere"),
        ...violationUnless(isOut, "a link worked twice"),
        ...violationUnless(!keeps, "the secret stayed in the address"),
      ];
    },
  },
  {
    name: "O-5 the server is killed and started again, with another build of the console: the page says so, stays as it was, and continues with nothing missing or doubled",
    async run({ server, ana }) {
      const { page } = ana;
      await startConversation(ana, server, "stage", "pay frank");
      await page.getByRole("button", { name: "Approve once" }).waitFor();
      await server.kill();
      await expectText(page, "Reconnecting…");
      const tells = await simulateUpdate(ana);
      const stays = await page.getByRole("article", { name: "Approval request for pay" }).isVisible();
      await server.start();
      await expectText(page, "Live");
      await page.getByRole("button", { name: "Updated: reload" }).waitFor();
      await page.getByRole("button", { name: "Approve once" }).click();
      await expectText(page, "1250 cents paid to frank");
      const old = await checkPage(ana, "a page that is older than its server");
      await tells();
      const cards = await page.getByRole("article", { name: "Call of pay" }).count();
      const said = await page.getByRole("region", { name: "Conversation" }).getByText("pay frank", { exact: true }).count();
      return [
        ...violationUnless(stays, "the page went blank"),
        ...violationUnless(cards === 1 && said === 1, `${cards} cards, said ${said} times`),
        ...old.filter((one) => !one.includes("status of 404")),
      ];
    },
  },
  {
    name: "O-7 a sign-in that ends while somebody writes: the page says so, and after signing in again it is where it was, with all text and files; a screen that the server no longer has says so, and what to do",
    async run({ server, ana }) {
      const { page } = ana;
      const place = await startConversation(ana, server, "stage", "pay kim");
      await page.getByRole("button", { name: "Deny" }).click();
      await page.getByLabel(/Why not/).fill("kim is on leave, and");
      await composer(page).fill("while you wait");
      await page.locator("input[type=file]").setInputFiles({ name: "red.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") });
      const chosen = page.getByRole("list", { name: "Files to be sent" });
      await chosen.getByText(/^red\.png/).waitFor();
      await signOut(ana, server);
      await expectText(page, "you come back to where you were");
      const out = await checkPage(ana, "a sign-in that has ended");
      await page.getByLabel("Sign-in link").fill(await server.link("ana"));
      await page.getByRole("button", { name: "Sign in" }).click();
      const kept = [
        await page.getByLabel(/Why not/).inputValue(),
        await composer(page).inputValue(),
        String(await chosen.getByText(/^red\.png/).count()),
        new URL(page.url()).pathname,
      ].join(" | ");
      await page.getByRole("button", { name: "Deny", exact: true }).click();
      await expectText(page, /That did not work: .*kim is on leave, and/);

      const tells = await simulateUpdate(ana);
      await page.getByRole("link", { name: "Fleet" }).first().click();
      await expectText(page, "This screen could not be shown");
      const gone = await findMisfits(ana);
      ana.errors(); // one error for each missing part
      await tells();
      await page.getByRole("button", { name: "Reload the page" }).click();
      await page.getByRole("heading", { name: "Fleet" }).waitFor();
      await openPage(ana, server, place);
      await composer(page).waitFor();
      const again = await composer(page).inputValue();
      await composer(page).fill("");
      return [
        ...violationUnless(kept === `kim is on leave, and | while you wait | 1 | ${place}`, `signing in again leads to ${kept}`),
        ...violationUnless(again === "while you wait", `loading the page again leaves ${JSON.stringify(again)}`),
        ...out.filter((one) => !one.includes("status of 401")),
        ...gone,
      ];
    },
  },
  {
    name: "O-7 over a slow connection that loses every first request the screens still load, by themselves",
    async run({ server, ana }) {
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
      await page.goto(`${server.url()}/approvals`);
      await page.getByRole("heading", { name: "Approvals" }).waitFor();
      await page.getByRole("link", { name: "Fleet" }).first().click();
      await page.getByRole("heading", { name: "stage", exact: true }).waitFor();
      const found = await checkPage(ana, "the fleet over a bad line");
      await page.unroute("**/api/v1/**");
      await line.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
      await line.detach();
      return [...violationUnless(lost.size > 5, `only ${lost.size} requests were lost`), ...found];
    },
  },
];
