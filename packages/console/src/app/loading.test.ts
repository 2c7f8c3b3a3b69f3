import { expect, test } from "vitest";
import { NOT_LOADED, reloadPage, withLoadError } from "./loading.ts";

test("a part that cannot be loaded reports the console's own error, with the browser's as its cause", async () => {
  expect(await withLoadError(() => Promise.resolve("the screen"))()).toBe("the screen");
  const cause = new Error("Failed to fetch dynamically imported module");
  await expect(withLoadError(() => Promise.reject(cause))()).rejects.toMatchObject({ message: NOT_LOADED, cause });
});

test("a page reloads once the server answers, and not before", async () => {
  const [looks, did]: [("away" | "there")[], (string | number)[]] = [["away", "away", "there"], []];
  await reloadPage({
    look: (address) => {
      const found = looks.shift();
      if (found === undefined) throw new Error("looked once too often");
      did.push(address);
      return Promise.resolve(found);
    },
    wait: (ms) => {
      did.push(ms);
      return Promise.resolve();
    },
    reload: () => void did.push("reload"),
  });
  expect(did).toEqual(["/livez", 1_000, "/livez", 2_000, "/livez", "reload"]);
});
