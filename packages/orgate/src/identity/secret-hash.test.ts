import { randomBytes, scryptSync } from "node:crypto";
import { expect, test } from "vitest";
import { hashSecret, matchesSecret, matchesSlowHash, newName, newSecret, UNMATCHABLE_HASH } from "./secret-hash.ts";

/** As earlier versions kept it. */
function scryptOf(secret: string): string {
  const salt = randomBytes(16);
  const hash = scryptSync(secret, salt, 32, { N: 2 ** 15, r: 8, p: 1, maxmem: 64 * 1024 * 1024 });
  return `scrypt$15$8$1$${salt.toString("base64url")}$${hash.toString("base64url")}`;
}

test("W-10 a secret fits its own hash alone, at once, and the same secret is hashed differently each time", async () => {
  const secret = newSecret();
  const [one, two] = await Promise.all([hashSecret(secret), hashSecret(secret)]);
  expect(secret).toMatch(/^[\w-]{43}$/);
  expect(newName()).toMatch(/^[0-9a-f]{16}$/);
  expect(one).not.toBe(two);
  expect(one).not.toContain(secret);
  expect([matchesSecret(secret, one), matchesSecret(secret, two)]).toEqual([true, true]);
  expect(matchesSecret(newSecret(), one)).toBe(false);
  expect(matchesSecret(secret, UNMATCHABLE_HASH)).toBe(false);
});

test("W-10 a hash of an earlier version still counts, and takes its time", async () => {
  const secret = newSecret();
  const kept = scryptOf(secret);
  expect(matchesSecret(secret, kept)).toBe(null);
  expect([await matchesSlowHash(secret, kept), await matchesSlowHash(newSecret(), kept)]).toEqual([true, false]);
});

test("W-10 what is kept in any other form, or was made weaker, fits nothing", async () => {
  const secret = newSecret();
  const kept = await hashSecret(secret);
  const slow = scryptOf(secret);
  const cost = (log: string) => slow.replace("$15$", `$${log}$`);
  for (const other of ["", secret, kept.replace("sha256", "plain"), `${kept}$`, kept.slice(0, -1), cost("10"), cost("21"), `${slow}$`])
    expect([other, matchesSecret(secret, other) ?? (await matchesSlowHash(secret, other))]).toEqual([other, false]);
});
