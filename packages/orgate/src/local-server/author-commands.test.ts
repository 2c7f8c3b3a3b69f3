// @module-tag tmux
// The commands that author, on a real terminal, in one session: typed, shown, answered by key, saved, in force. The offline author writes.
import { afterEach, expect, test } from "vitest";
import { makeDesk, until } from "../cli/commands/fixtures/desk.ts";
import { openPane } from "./fixtures/pane.ts";

const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0).reverse()) end();
});

const NOTES = `import { defineTool } from "orgate";
const input = { type: "object", properties: { name: { type: "string" } }, required: ["name"], additionalProperties: false } as const;
export const readNote = defineTool({ name: "read_note", description: "reads a note", input, repeat: "read", effects: ["read"], run: ({ name }) => "the note " + name });
`;

test("S-14 /init, /spawn, /policy, /tool and /behavior: the difference and what it newly permits are shown, a key answers, what was saved is in force for what is said next; what was refused is nowhere", async () => {
  const desk = makeDesk();
  ending.push(desk.remove);
  desk.write("tools/notes.ts", NOTES);
  const { tmux, close, keys, does, sees, orgate } = openPane(desk);
  ending.push(close);
  tmux("resize-window", "-x", "110", "-y", "50");
  orgate("shell --theme plain");
  await sees("`/init shell` writes agents/shell.symbi");
  await does("/init shell", /agents\/shell\.symbi[\s\S]*in force: `shell` is there now/);
  expect(desk.has("policies/shell/shell.cedar")).toBe(true);
  await does("/agent use shell", "you talk to shell");

  // a tool: refused, and nothing is there; asked for again, and it is
  const tool = '/tool "say that runs `echo {text}`"';
  await does(tool, /\+ binary = "echo"[\s\S]*Save this\?[\s\S]*y once/);
  keys("n");
  await sees("why not?");
  keys("-l", "not yet");
  keys("Enter");
  await sees(/Nothing was saved: .*not yet/);
  expect(desk.has("tools/say.clad.toml")).toBe(false);
  await does(tool, /\+ binary = "echo"[\s\S]*Save this\?[\s\S]*y once/);
  keys("y");
  await sees(/Saved tools\/say\.clad\.toml[\s\S]*what was saved is in force/);
  expect(desk.read("tools/say.clad.toml")).toContain('binary = "echo"');

  // an agent, with it
  await does(
    '/spawn "keeper that reads notes and says them"',
    /\+ agent keeper \{[\s\S]*newly permits: keeper · tool:read_note[\s\S]*y once/,
  );
  keys("y");
  await sees("in force: `keeper` is there now");
  await does("/spawn keeper", /keeper is started: s_\w+/);
  await does('say "hello"', /● say\(text=hello\)[\s\S]*iterations/);
  await does('read_note "today"', /● read_note\(name=today\)[\s\S]*the note today/);

  // a policy, over it
  await does(
    '/policy "keeper may not use read_note"',
    /\+ forbid\(principal == Agent::"keeper"[\s\S]*newly forbids: keeper · tool:read_note[\s\S]*y once/,
  );
  keys("y");
  await sees("Saved policies/keeper-read_note.cedar"); // said before it is in force, and heard after (S-14)
  await does("/agent use keeper", "you talk to keeper");
  await does('read_note "today"', /denied: keeper does not use read_note/);

  // a block for others
  await does('/behavior "summary(text) that sums up a text"', /\+ agent summary\(text: String\)[\s\S]*y once/);
  keys("y");
  await sees("in force: `summary` is there now");
  await does("/spawn summary", /summary is started: s_/);
}, 120_000);

test.each([40, 80])(
  "S-5 Q-10 at %i columns on a real terminal a save is read to its end before y counts, is never granted, and the next save asks again",
  async (columns) => {
    const desk = makeDesk();
    ending.push(desk.remove);
    desk.write("tools/notes.ts", NOTES);
    const { tmux, close, keys, does, sees, screen, orgate } = openPane(desk);
    ending.push(close);
    tmux("resize-window", "-x", "110", "-y", "50");
    orgate("shell --theme plain");
    await sees("`/init shell` writes agents/shell.symbi");
    await does("/init shell", /in force: `shell` is there now/);
    await does("/agent use shell", "you talk to shell");
    tmux("resize-window", "-x", String(columns), "-y", "12");
    await does('/spawn "keeper that reads notes"', /Space shows \d+ more rows?/);
    // Letters that a busy machine reads together are a word, and a word begins a message; an arrow between them keeps each a key.
    keys("y", "Right", "g", "Right");
    const shown = () => tmux("capture-pane", "-p");
    let text = "";
    for (let [pages, now] = [0, shown()]; !/y once/.test(now); pages += 1) {
      expect(pages).toBeLessThan(60);
      expect(desk.has("agents/keeper.symbi")).toBe(false); // neither of those keys counted
      const before = now; // judged and compared alike: another look might be of the next page
      text += before;
      keys("Space");
      now = await until(() => [shown()].find((one) => one !== before) ?? null);
    }
    expect(text).toContain("newly permits");
    expect(screen()).not.toContain("g grant");
    keys("y");
    await sees("in force: `keeper`");
    expect(desk.has("agents/keeper.symbi")).toBe(true);
    await does('/spawn "other that reads notes"', /Space shows \d+ more rows?|y once/);
    expect(desk.has("agents/other.symbi")).toBe(false);
  },
  120_000,
);
