import { expect, test } from "vitest";
import { keyName } from "./shortcuts.ts";

const pressed = (key: string, held: Partial<Record<"metaKey" | "ctrlKey" | "altKey", true>> = {}) =>
  keyName({ key, metaKey: held.metaKey ?? false, ctrlKey: held.ctrlKey ?? false, altKey: held.altKey ?? false });

test("a key counts by itself, with the command key as another, and with Alt not at all", () => {
  expect(pressed("a")).toBe("a");
  expect(pressed("?")).toBe("?");
  expect(pressed("K", { ctrlKey: true })).toBe("mod+k");
  expect(pressed("k", { metaKey: true })).toBe("mod+k");
  expect(pressed("a", { altKey: true })).toBeNull();
});
