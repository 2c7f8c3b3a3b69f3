// `node scripts/pages/record-shell.ts` sits down at `orgate shell` in a real terminal, in a new project on the offline model, and puts what it shows into
// docs/guide/shell.md and docs/assets/. `--check` does it again and says whether the page still shows what the shell does.
// The session in the guide and the README is recorded by a script: nothing in it depends on the machine, the person or the day.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { needTmux, svgOf, withoutColour } from "./record-demo.ts";

const COLUMNS = 92;
const ROWS = 60;
const PATIENCE_MS = 60_000;
export const OPEN = "<!-- shell: recorded by scripts/pages/record-shell.ts -->";
export const CLOSE = "<!-- /shell -->";
export const PAGE = "docs/guide/shell.md";
export const PICTURE = "docs/assets/shell.svg";

/** What a person does, and what they wait to see before they go on. `keys` as tmux names them; what is said is sent with Enter. */
export type Step = Readonly<{ say: string } | { keys: string }> & Readonly<{ sees: RegExp }>;
/** Keys are an answer once this stands there. */
const ASKED = /y once/;
export const STORY: readonly Step[] = [
  { say: "@assistant what is on today?", sees: /Your notes say[\s\S]*\d iterations/ },
  { say: "/agent use assistant", sees: /you talk to assistant/ },
  { say: "remember to call Ana at nine", sees: ASKED },
  { keys: "y", sees: /I have saved it\.[\s\S]*\d iterations/ },
  { say: "remember the pin of the card", sees: ASKED },
  { keys: "n", sees: /why not\?/ },
  { say: "no secrets in notes", sees: /I was not allowed to save it\.[\s\S]*\d iterations/ },
  { say: '/parallel assistant helper --budget 20000 "what is on today?"', sees: /2 members together/ },
  { say: "/verify", sees: /the journal is what was written[\s\S]*head w/ },
  { say: "/agent use shell", sees: /you talk to shell/ },
  { say: "make me a reader of notes", sees: ASKED },
  { keys: "y", sees: /Saved agents\/reader\.symbi[\s\S]*`reader` is there now[\s\S]*context \S+ of 80k/ },
];

/** The shell's own agent, on a model that makes a mistake first: it names a tool that there is not. */
const READER =
  'metadata { description = "You read notes aloud." }\n\nagent reader {\n  capabilities = [read_note]\n  policy reading { allow: [model, respond, read_note] }\n  with model = "offline/echo" {}\n}\n';
const call = (when: string, tool: string, content: string): string =>
  `{ when: ${when}, calls: [{ tool: "${tool}", args: { path: "agents/reader.symbi", content: ${JSON.stringify(content)} } }] }`;
const RULES = [
  call("{}", "validate_dsl", READER.replaceAll("read_note", "read_notes")),
  call('{ result: "^not valid" }', "validate_dsl", READER),
  call('{ result: "^valid" }', "save_artifact", READER),
  '{ when: { called: ["save_artifact"] }, say: "Saved {{results.save_artifact.saved}}. Next: {{results.save_artifact.next}}" }',
].join(", ");
const author = (file: string): void =>
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(
      "model_options = { author: true },",
      `model = "offline/scripted", model_options = { rules: [${RULES}] },`,
    ),
  );

/** What was printed last has been drawn. */
const MOMENT_MS = 700;

async function record(root: string): Promise<string> {
  const place = mkdtempSync(join(tmpdir(), "orgate-record-shell-"));
  const { PATH = "" } = process.env;
  const env = { PATH, ORGATE_HOME: join(place, "home"), ORGATE_USER: "ana", TMUX_TMPDIR: place, TERM: "xterm-256color", LANG: "C.UTF-8" };
  const orgate = [process.execPath, join(root, "packages/orgate/bin/orgate.js")] as const;
  for (const args of [
    ["keys", "create", "ana"],
    ["init", "notes", "--yes"],
  ]) {
    const made = spawnSync(orgate[0], [orgate[1], ...args], { cwd: place, env, encoding: "utf8" });
    if (made.status !== 0) throw new Error(`orgate ${args.join(" ")}: ${made.stderr}`);
  }
  author(join(place, "notes", "agents", "shell.symbi"));
  const tmux = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync("tmux", ["-u", "-f", "/dev/null", "-L", "record", ...args], { env, encoding: "utf8" });
    if (status !== 0) throw new Error(`tmux ${args[0]}: ${stderr.trim()}`);
    return stdout;
  };
  const shell = `cd '${join(place, "notes")}' && '${orgate[0]}' '${orgate[1]}' shell; sleep 600`;
  tmux("new-session", "-d", "-x", String(COLUMNS), "-y", String(ROWS), shell);
  const shown = (): string => tmux("capture-pane", "-p", "-S", "-2000");
  let said = "";
  /** Below what was said last. */
  const sees = async (words: RegExp): Promise<void> => {
    for (const end = performance.now() + PATIENCE_MS; ; await pause(100)) {
      const text = shown();
      if (words.test(text.slice(said === "" ? 0 : Math.max(0, text.lastIndexOf(said))))) return;
      if (performance.now() > end) throw new Error(`${String(words)} was not to be seen:\n${text.trimEnd()}`);
    }
  };
  try {
    await sees(/local/);
    await pause(MOMENT_MS);
    tmux("clear-history"); // tmux keeps what is erased at the top of its screen
    for (const step of STORY) {
      if ("keys" in step) {
        tmux("send-keys", step.keys);
      } else {
        tmux("send-keys", "-l", step.say);
        await pause(200);
        tmux("send-keys", "Enter");
        said = step.say.replace(/^@\w+ /, "");
      }
      await sees(step.sees);
      await pause(400);
    }
    return tmux("capture-pane", "-p", "-e", "-S", "-2000");
  } finally {
    tmux("kill-server");
    rmSync(place, { recursive: true, force: true });
  }
}

/** Ids, hashes, times and where it was recorded say nothing. */
export const settled = (shown: string): string =>
  shown
    .replaceAll(/\b([saiw]_)[a-z0-9]{8,}/g, "$1…")
    .replaceAll(/\b[0-9a-f]{12,64}\b/g, "#")
    .replaceAll(/\b\d+(\.\d+)? (ms|s|min)\b/g, "… ms")
    .replaceAll(/\bk_[0-9a-f]+/g, "k_…")
    .replaceAll(/\b\d+ (entries|streams|commits)\b/g, "… $1") // how writes fall together differs from run to run
    .replaceAll(/\bw1@\d+/g, "w1@…")
    .replaceAll(/\/\S*orgate-record-shell-\w+/g, "…")
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replace(/^\n+/, "")
    .trimEnd();

export const blockOf = (page: string): string => {
  const [from, to] = [page.indexOf(OPEN), page.indexOf(CLOSE)];
  if (from === -1 || to < from) throw new Error(`${PAGE} has no \`${OPEN}\` … \`${CLOSE}\``);
  return page.slice(from + OPEN.length, to);
};
export const textIn = (block: string): string => /```text\n([\s\S]*?)\n```/.exec(block)?.[1] ?? "";
export const withBlock = (page: string, shown: string): string =>
  page.replace(
    `${OPEN}${blockOf(page)}${CLOSE}`,
    () => `${OPEN}\n![a session of the shell](../assets/shell.svg)\n\n\`\`\`text\n${withoutColour(settled(shown))}\n\`\`\`\n${CLOSE}`,
  );

if (import.meta.main) {
  const root = join(import.meta.dirname, "../..");
  const page = readFileSync(join(root, PAGE), "utf8");
  needTmux();
  const shown = settled(await record(root));
  if (process.argv.includes("--check")) {
    const [was, is] = [textIn(blockOf(page)).split("\n"), withoutColour(shown).split("\n")];
    const at = is.findIndex((line, row) => line !== was[row]);
    const same = at < 0 && was.length === is.length;
    console.log(same ? `${PAGE} shows what the shell does` : `${PAGE} shows another session: run \`npm run record:shell\``);
    if (!same) console.log(`line ${at + 1}\n- ${was[at] ?? ""}\n+ ${is[at] ?? ""}`);
    process.exitCode = same ? 0 : 1;
  } else {
    mkdirSync(join(root, dirname(PICTURE)), { recursive: true });
    writeFileSync(join(root, PICTURE), svgOf(shown, { columns: COLUMNS, label: "a session of the shell" }));
    writeFileSync(join(root, PAGE), withBlock(page, shown));
    console.log(`recorded: ${shown.split("\n").length} lines, into ${PAGE} and ${PICTURE}`);
  }
}
