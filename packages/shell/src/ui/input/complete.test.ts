import { expect, test } from "vitest";
import { applyCompletion, type Choices, complete, rankOffers } from "./complete.ts";

const offer = (word: string) => ({ word, about: "" });
const choices: Choices = {
  commands: ["agent", "agents", "approvals", "quit"].map(offer),
  agents: ["ops", "reviewer"].map(offer),
  argumentOffers: (command, at) =>
    command === "agent" ? ([["use", "clear"].map(offer), ["ops", "reviewer"].map(offer)][at] ?? null) : null,
  files: (folder) => (folder === "src/" ? ["main.ts", "parts/"] : folder === "" ? ["src/", "readme.md"] : []),
};
const offered = (text: string) => complete({ text, at: text.length }, choices)?.offers.map(({ word }) => word) ?? [];

test("what begins with the letters comes first, then what holds them in order; anything else is not offered", () => {
  expect(rankOffers("ag", [offer("manage"), offer("agents"), offer("agent"), offer("quit")]).map(({ word }) => word)).toEqual([
    "agent",
    "agents",
    "manage",
  ]);
  expect(rankOffers("avl", choices.commands).map(({ word }) => word)).toEqual(["approvals"]);
});

test.each([
  ["/ag", ["/agent", "/agents"]],
  ["say /ag", []],
  ["@rev", ["@reviewer"]],
  ["look at @re", ["@readme.md"]],
  ["read src/m", ["src/main.ts"]],
  ["/agent u", ["use"]],
  ["/agent use o", ["ops"]],
  ["/agent use ops o", []],
  ["/quit src/m", ["src/main.ts"]],
  ["hello", []],
  ["see rea", ["readme.md"]],
])("%j offers %j", (text, words) => expect(offered(text)).toEqual(words));

test("what is taken stands where the word stood, and leaves the rest of the line", () => {
  const line = { text: "/ag now", at: 3 };
  const open = complete(line, choices);
  expect(open === null ? null : applyCompletion(line, open)).toEqual({ text: "/agent now", at: 6 });
  const folder = { text: "see sr", at: 6 };
  expect(applyCompletion(folder, { from: 4, offers: [offer("src/")], chosen: 0 })).toEqual({ text: "see src/", at: 8 });
});
