import { expect, test } from "vitest";
import { fitsSecret, hashSecret, NOBODYS, newName, newSecret } from "./secret-hash.ts";

test("W102 a secret fits its own hash alone, and the same secret is hashed differently each time", async () => {
  const secret = newSecret();
  const [one, two] = await Promise.all([hashSecret(secret), hashSecret(secret)]);
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(newName()).toMatch(/^[0-9a-f]{16}$/);
  expect(one).not.toBe(two);
  expect(one).not.toContain(secret);
  expect(await Promise.all([fitsSecret(secret, one), fitsSecret(secret, two)])).toEqual([true, true]);
  expect(await fitsSecret(newSecret(), one)).toBe(false);
  expect(await fitsSecret(secret, NOBODYS)).toBe(false);
});

test("W102 what is kept in any other form, or was made weaker, fits nothing", async () => {
  const secret = newSecret();
  const kept = await hashSecret(secret);
  const [name, , r, p, salt, hash] = kept.split("$");
  const weaker = [name, "10", r, p, salt, hash].join("$");
  for (const other of [
    "",
    secret,
    weaker,
    kept.replace("scrypt", "plain"),
    `${kept}$`,
    kept.slice(0, -1),
    [name, "21", r, p, salt, hash].join("$"),
  ])
    expect([other, await fitsSecret(secret, other)]).toEqual([other, false]);
});
