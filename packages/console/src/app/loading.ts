/**
 * Parts of the console that are loaded when they are needed, and the page itself, loaded again.
 * A part that did not arrive, or that the server has no more, says so in its place. Trying it once more would not help: a browser remembers that a
 * module failed for as long as the page is open. The page is loaded again by whoever is at it, once the server is there.
 */
import { useEffect, useRef, useState } from "react";
import { retryDelayMs } from "../link/browser.ts";

/** What is thrown in place of the browser's own words. */
export const NOT_LOADED = "this part of the console could not be loaded";

export const withLoadError =
  <T>(load: () => Promise<T>) =>
  (): Promise<T> =>
    load().catch((cause: unknown) => {
      throw new Error(NOT_LOADED, { cause });
    });

type Found = "there" | "gone" | "away";
type Outside = Readonly<{
  /** What the server has at an address, if it answers at all. */
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

/** Not before the server answers: until then the page that there is says more than the browser's own. */
export async function reloadPage({ look, wait, reload }: Outside = inBrowser): Promise<void> {
  for (let n = 1; (await look("/livez")) === "away"; n += 1) await wait(retryDelayMs(n));
  reload();
}

/** Whether the server has another build by now than this page is of: it may have been updated while it was away. */
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
