import { afterEach, expect, test } from "vitest";
import { plain } from "../cli/paint.ts";
import { openGuarded } from "../coordinator/fixtures/guarded.ts";
import { quietScreen } from "./fixtures/screen.ts";
import { givenFrom } from "./here-frames.ts";
import { takeSeat } from "./seat.ts";
import type { Face } from "./shell.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test("S67 from one server to another under the same face; one that is not there, or lets nobody in, leaves everything as it was", async () => {
  const servers = await Promise.all([openGuarded({ names: ["clerk"] }), openGuarded({ names: ["other"] })]);
  for (const at of servers) closing.push(() => at.stop());
  const [first, second] = servers.map(({ at }) => at.url);
  const keys = await Promise.all(servers.map((at) => at.give()));
  const lines: string[] = [];
  const asked: string[] = [];
  const face: Face = {
    look: () => ({ columns: 80, paint: plain, showThinking: false }),
    print: (more) => lines.push(...more),
    changed: () => {},
    leave: () => {},
    cwd: ".",
    files: () => [],
    show: () => false,
    askHidden: async (question) => {
      asked.push(question);
      return keys.shift() ?? "";
    },
    wear: () => {},
  };
  const begun: string[] = [];
  const seat = takeSeat(givenFrom({ texts: {}, flags: [], project: null, cwd: ".", env: {} }), quietScreen(), face, (shell) =>
    begun.push(shell.addressee() ?? "nobody"),
  );
  closing.push(() => seat.close());
  await seat.moveTo(first ?? "");
  await seat.shell()?.submit(`/attach ${second}`);
  expect(begun).toEqual(["clerk", "other"]);
  expect(asked).toEqual([expect.stringMatching(/^API key for 127\.0\.0\.1:/), expect.stringMatching(/^API key for/)]);

  keys.push("wrong", "right");
  await seat.shell()?.submit(`/attach ${first}`);
  expect(lines.join("\n")).toMatch(/not signed in|401|sign/i);
  await seat.shell()?.submit("/attach http://127.0.0.1:1");
  expect(lines.join("\n")).toContain("unreachable: 127.0.0.1:1");
  await seat.shell()?.submit("/attach nowhere");
  expect(lines.join("\n")).toContain("no address of a server");
  expect(begun).toEqual(["clerk", "other"]);
  expect(seat.shell()?.addressee()).toBe("other");
});
