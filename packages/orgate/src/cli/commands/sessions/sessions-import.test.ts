import { afterAll, expect, test } from "vitest";
import { expectRefusals, makeDesk } from "../fixtures/desk.ts";

const desk = makeDesk();
const elsewhere = makeDesk();
afterAll(() => {
  desk.remove();
  elsewhere.remove();
});
type Imported = Readonly<{ session: string; agent: string; external: string | null; messages: number; labels: readonly string[] }>;
const LIST = JSON.stringify([
  { role: "user", text: "where is my parcel?" },
  { role: "assistant", text: "in Graz" },
]);

test("H-7 an exported session is imported into another project: what was said comes along with its labels, and a turn goes on in it", async () => {
  const { session } = (await elsewhere.json("run", "desk", "--input", "please look")) as { session: string };
  await elsewhere.orgate("journal", "export", "--session", session, "--out", "case.jsonl");
  desk.write("case.jsonl", elsewhere.read("case.jsonl"));
  const effects = desk.has("effects.txt") ? desk.read("effects.txt") : "";
  const imported = (await desk.json(
    "sessions",
    "import",
    "case.jsonl",
    "--agent",
    "desk",
    "--label",
    "internal",
    "--id",
    "case 7",
  )) as Imported;
  expect(imported).toMatchObject({ agent: "desk", external: "case 7", messages: 4 });
  expect([...imported.labels].sort()).toEqual(["internal", "untrusted"]); // a tool speaks in it
  expect(desk.has("effects.txt") ? desk.read("effects.txt") : "").toBe(effects);
  const { conversation } = (await desk.json("run", "desk", "--session", imported.session, "--input", "thanks")) as {
    conversation: readonly { role: string; text?: string }[];
  };
  expect(conversation.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user", "assistant"]);
  expect(conversation[0]?.text).toBe("please look");
});

test("H-7 a JSON list of messages is imported, and the next command is said", async () => {
  desk.write("chat.json", LIST);
  const { code, stdout } = await desk.orgate("sessions", "import", "chat.json", "--agent", "desk");
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(/^s_\w+ imported: 2 messages\ngo on: .*run desk --session s_\w+ --input "…"\n$/),
  ]);
  desk.write("more.json", JSON.stringify({ history: JSON.parse(LIST), labels: ["secret"] }));
  expect(await desk.json("sessions", "import", "more.json", "--agent", "desk")).toMatchObject({ messages: 2, labels: ["secret"] });
});

test("H-7 what cannot be imported is refused with its place and the next step, and no session is opened", async () => {
  const { session } = (await elsewhere.json("run", "desk", "--input", "please look")) as { session: string };
  await elsewhere.orgate("journal", "export", "--session", session, "--out", "whole.jsonl");
  await elsewhere.orgate("journal", "export", "--out", "all.jsonl");
  const whole = elsewhere.read("whole.jsonl");
  desk.write("changed.jsonl", whole.replace("please look", "please send"));
  desk.write("torn.jsonl", whole.slice(0, -200));
  desk.write("all.jsonl", elsewhere.read("all.jsonl"));
  desk.write("chat.json", LIST);
  desk.write("open.json", '[{"role":"user","text":"hi"},{"role":"assistant","text":"","calls":[{"id":"c","tool":"look","text":"{}"}]}]');
  desk.write("text.json", "hello");
  desk.write("number.json", "7");
  desk.write("labels.json", '{"history":[],"labels":7}');
  await desk.json("sessions", "import", "chat.json", "--agent", "desk", "--id", "taken");
  const before = (await desk.json("sessions", "list")) as readonly unknown[];
  const refused: [string[], number, string][] = [
    [["changed.jsonl", "--agent", "desk"], 1, "it was changed after it was exported"],
    [["torn.jsonl", "--agent", "desk"], 1, "torn.jsonl"],
    [["all.jsonl", "--agent", "desk"], 1, "it is a whole journal"],
    [["open.json", "--agent", "desk"], 1, "call `c` has no result"],
    [["text.json", "--agent", "desk"], 1, "neither an export of a session nor JSON"],
    [["number.json", "--agent", "desk"], 1, "no list of messages"],
    [["labels.json", "--agent", "desk"], 1, "`labels` is no list"],
    [["nothing.json", "--agent", "desk"], 1, "there is no such file"],
    [["chat.json"], 2, "--agent is missing"],
    [["chat.json", "--agent", "nobody"], 1, "there is no agent `nobody`"],
    [["chat.json", "--agent", "desk", "--id", "taken"], 2, "there is a session `taken` already"],
  ];
  await expectRefusals(
    desk,
    refused.map(([args, exit, message]) => [["sessions", "import", ...args], exit, message]),
  );
  expect(((await desk.json("sessions", "list")) as readonly unknown[]).length).toBe(before.length);
});

test("A-10 to fork, to import and to close a session is decided by the policies, as at the server", async () => {
  const guarded = makeDesk();
  try {
    const { session } = (await guarded.json("run", "desk", "--input", "hello")) as { session: string };
    guarded.write("list.json", LIST);
    guarded.write(
      "policies/no.cedar",
      '@id("closed") @reason("not by hand")\nforbid(principal is User, action in [Action::"open", Action::"close"], resource);\n',
    );
    await expectRefusals(guarded, [
      [["sessions", "fork", session], 1, "may not fork"],
      [["sessions", "import", "list.json", "--agent", "desk"], 1, "may not open a session of desk: not by hand"],
      [["sessions", "close", session], 1, "may not close"],
    ]);
    expect(await guarded.json("sessions", "list")).toMatchObject([{ session, state: "idle" }]);
    guarded.write("policies/no.cedar", '@id("closed")\nforbid(principal is User, action == Action::"halt", resource);\n');
    expect((await guarded.orgate("sessions", "fork", session)).code).toBe(0);
    expect((await guarded.orgate("sessions", "close", session)).code).toBe(0);
  } finally {
    guarded.remove();
  }
});
