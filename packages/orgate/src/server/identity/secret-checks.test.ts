import { expect, test } from "vitest";
import { openSecretChecks } from "./secret-checks.ts";

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

test("W-17 so many are checked at a time, so many wait, and the rest are told to come later", async () => {
  const { begun, check, end } = slow();
  const guesses = openSecretChecks({ atOnce: 2, waiting: 2 });
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

test("W-17 what was found right is not checked again; the same at the same time is checked once", async () => {
  const { begun, check, end } = slow();
  const guesses = openSecretChecks();
  const both = [guesses.check("a", "r", check), guesses.check("a", "r", check)];
  await soon();
  end(true);
  expect(await Promise.all(both)).toEqual(["right", "right"]);
  expect(await guesses.check("a", "r", check)).toBe("right");
  expect(begun()).toBe(1);
});

test("W-17 those who wait for one key hold up no other key, and what is known right is not checked", async () => {
  const { begun, check, end } = slow();
  const guesses = openSecretChecks({ atOnce: 1, waiting: 3 });
  const first = guesses.check("w1", "attacked", check);
  const waiting = ["w2", "w3", "w4"].map((token) => guesses.check(token, "attacked", check));
  await soon();
  expect(await guesses.check("w5", "attacked", check)).toBe("later");
  const other = guesses.check("good", "mine", check);
  await soon();
  for (const right of [false, false, true]) {
    end(right);
    await soon();
  }
  expect([await first, await waiting[0], await other]).toEqual(["wrong", "wrong", "right"]);
  expect(await guesses.check("good", "mine", check)).toBe("right");
  for (let i = 0; i < 2; i += 1) {
    end(false);
    await soon();
  }
  expect(await Promise.all(waiting)).toEqual(["wrong", "wrong", "wrong"]);
  expect(begun()).toBe(5);
});

test("W-17 a check that fails is no answer, and holds nobody up", async () => {
  const guesses = openSecretChecks({ atOnce: 1 });
  await expect(guesses.check("a", "r", () => Promise.reject(new Error("no memory")))).rejects.toThrow("no memory");
  expect(await guesses.check("a", "r", async () => true)).toBe("right");
});
