import { expect, test } from "vitest";
import { guessing } from "./auth-guessing.ts";

/** Checks that end when they are told to. */
function slow() {
  const open: ((right: boolean) => void)[] = [];
  let begun = 0;
  return {
    begun: () => begun,
    check: () => {
      begun += 1;
      return new Promise<boolean>((resolve) => open.push(resolve));
    },
    end: (right: boolean) => open.shift()?.(right),
  };
}
const soon = () => new Promise<void>((resolve) => setImmediate(resolve));

test("W114 so many are checked at a time, so many wait, and the rest are told to come later", async () => {
  const { begun, check, end } = slow();
  const guesses = guessing({ now: () => 0, atOnce: 2, waiting: 2 });
  const asked = ["a", "b", "c", "d"].map((token) => guesses.check(token, "r", check));
  await soon();
  expect(begun()).toBe(2);
  expect(await guesses.check("e", "r", check)).toBe("later");
  for (let i = 0; i < 4; i += 1) {
    end(true);
    await soon();
  }
  expect(await Promise.all(asked)).toEqual(["right", "right", "right", "right"]);
  expect(begun()).toBe(4);
});

test("W114 what was found right is not checked again; the same at the same time is checked once", async () => {
  const { begun, check, end } = slow();
  const guesses = guessing({ now: () => 0 });
  const both = [guesses.check("a", "r", check), guesses.check("a", "r", check)];
  await soon();
  end(true);
  expect(await Promise.all(both)).toEqual(["right", "right"]);
  expect(await guesses.check("a", "r", check)).toBe("right");
  expect(begun()).toBe(1);
});

test("W114 after too many wrong ones from one address none from there is looked at for a while; others are, and what is known right is", async () => {
  let now = 0;
  const guesses = guessing({ now: () => now, wrong: 3, withinMs: 1_000 });
  const no = async () => false;
  const yes = async () => true;
  expect(await guesses.check("good", "r", yes)).toBe("right");
  for (const token of ["1", "2", "3"]) expect(await guesses.check(token, "r", no)).toBe("wrong");
  expect(await guesses.check("4", "r", no)).toBe("later");
  expect(await guesses.check("fine", "r", yes)).toBe("later");
  expect(await guesses.check("good", "r", yes)).toBe("right");
  expect(await guesses.check("fine", "another", yes)).toBe("right");
  now = 1_000;
  expect(await guesses.check("4", "r", no)).toBe("wrong");
});

test("W114 a check that fails is no answer, and holds nobody up", async () => {
  const guesses = guessing({ now: () => 0, atOnce: 1 });
  await expect(guesses.check("a", "r", () => Promise.reject(new Error("no memory")))).rejects.toThrow("no memory");
  expect(await guesses.check("a", "r", async () => true)).toBe("right");
});
