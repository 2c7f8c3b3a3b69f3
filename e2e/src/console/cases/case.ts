/** A case: a person at a page who does something, and the violations found. With the steps that many cases share. */
import type { Browser, Locator, Page } from "playwright-core";
import type { Violation } from "../../checks.ts";
import { openPage, type Person } from "../kit.ts";
import type { ConsoleServer } from "../server.ts";

export type Case = Readonly<{ name: string; run(world: World): Promise<readonly Violation[]> }>;
/** A case over a server with a past: a session of ten thousand entries, and one full of hostile text. */
export type WatchCase = Readonly<{ name: string; run(world: WatchWorld): Promise<readonly Violation[]> }>;
export type WatchWorld = World & Readonly<{ phone: Person; long: string; hostile: string }>;
export type World = Readonly<{ browser: Browser; server: ConsoleServer; ana: Person }>;

export const composer = (page: Page): Locator => page.getByRole("textbox", { name: /^Message to/ });
export const expectText = async (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();

/** Sends a message to an agent in a new conversation; returns its address. */
export async function startConversation(person: Person, server: ConsoleServer, agent: string, text: string): Promise<string> {
  const { page } = person;
  await openPage(person, server, `/chat/with/${agent}`);
  await composer(page).fill(text);
  await composer(page).press("Enter");
  await page.waitForURL(/\/chat\/s_/);
  return new URL(page.url()).pathname;
}

/** Three pixels by two, red. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGP4z8AAQQxwFgBB0gX7h/C5SAAAAABJRU5ErkJggg==";

export const violationUnless = (isSo: boolean, what: string): readonly Violation[] => (isSo ? [] : [what]);

/** Simulates an updated server: files under their old names answer 404. Returns how to undo it. */
export async function simulateUpdate({ page }: Person): Promise<() => Promise<void>> {
  const old = /\/assets\/.*\.(?:js|css)$/;
  await page.route(old, (route) =>
    route.continue({
      url: route
        .request()
        .url()
        .replace(/-[\w-]{8}\./, "-gone0000."),
    }),
  );
  return () => page.unroute(old);
}
