/** A case: a person at a page who does something, and the violations found. With the steps that many cases share. */
import type { Browser, Locator, Page } from "playwright-core";
import type { Violation } from "../../checks.ts";
import type { ConsoleDesk } from "../desk.ts";
import { go, type Person } from "../kit.ts";

export type Case = Readonly<{ name: string; run(world: World): Promise<readonly Violation[]> }>;
/** A case over a server with a past: a session of ten thousand entries, and one full of hostile text. */
export type WatchCase = Readonly<{ name: string; run(world: WatchWorld): Promise<readonly Violation[]> }>;
export type WatchWorld = World & Readonly<{ phone: Person; long: string; hostile: string }>;
export type World = Readonly<{ browser: Browser; desk: ConsoleDesk; ana: Person }>;

export const composer = (page: Page): Locator => page.getByRole("textbox", { name: /^Message to/ });
export const expectText = async (page: Page, text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();

/** Says something to an agent in a conversation of its own; returns where that is. */
export async function say(person: Person, desk: ConsoleDesk, agent: string, text: string): Promise<string> {
  const { page } = person;
  await go(person, desk, `/chat/with/${agent}`);
  await composer(page).fill(text);
  await composer(page).press("Enter");
  await page.waitForURL(/\/chat\/s_/);
  return new URL(page.url()).pathname;
}

/** Three pixels by two, red. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR4nGP4z8AAQQxwFgBB0gX7h/C5SAAAAABJRU5ErkJggg==";

export const wrong = (isSo: boolean, what: string): readonly Violation[] => (isSo ? [] : [what]);

/** As if the server had been updated: what a page asks for by its old name is not there, as the server says it. Returns the way back. */
export async function updated({ page }: Person): Promise<() => Promise<void>> {
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
