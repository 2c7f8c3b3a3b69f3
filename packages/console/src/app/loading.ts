/**
 * Parts of the console that load on demand, and reloading the page.
 * A part that did not arrive, or that the server no longer has, shows an error in its place. A retry would not help: a browser remembers a failed module
 * for as long as the page is open. So the person reloads the page, once the server answers.
 */
import { useEffect, useRef, useState } from "react";
import { retryDelayMs } from "../link/browser.ts";

/** Replaces the browser's own error text. */
export const NOT_LOADED = "this part of the console could not be loaded";

export const withLoadError =
  <T>(load: () => Promise<T>) =>
  (): Promise<T> =>
    load().catch((cause: unknown) => {
      throw new Error(NOT_LOADED, { cause });
    });

type Found = "there" | "gone" | "away";
type Outside = Readonly<{
  /** Whether the server has this address, if it answers at all. */
  look(address: string): Promise<Found>;
  wait(ms: number): Promise<void>;
  reload(): void;
}>;

const inBrowser: Outside = {
  look: (address) =>
    fetch(address, { method: "HEAD", cache: "no-store" }).then(
      ({ status }) => (status === 404 ? "gone" : "there"),
      () => "away",
    ),
  wait: (ms) => new Promise((done) => setTimeout(done, ms)),
  reload: () => location.reload(),
};

/** Reloads once the server answers: until then the current page says more than the browser's error page. */
export async function reloadPage({ look, wait, reload }: Outside = inBrowser): Promise<void> {
  for (let n = 1; (await look("/livez")) === "away"; n += 1) await wait(retryDelayMs(n));
  reload();
}

/** Whether the server now has another build than this page: it may have been updated while it was away. */
export function useIsOutdated(isOpen: boolean): boolean {
  const [isOld, setOld] = useState(false);
  const wasOpen = useRef(false);
  useEffect(() => {
    if (!isOpen) return;
    const isFirst = !wasOpen.current;
    wasOpen.current = true;
    const script = document.querySelector<HTMLScriptElement>("script[src]")?.src ?? "/livez";
    if (!isFirst) void inBrowser.look(script).then((found) => setOld(found === "gone"));
  }, [isOpen]);
  return isOld;
}
