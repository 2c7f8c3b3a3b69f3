// `node scripts/pages/record-demo.ts` runs the demo in a real terminal, 100 columns wide, and puts what it shows into README.md and docs/assets/.
// `--check` runs it again and says whether README still shows what the demo does, whatever ids and times are.
// R-7 the demo of README is recorded from a terminal by a script, which also says whether it is still true.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const COLUMNS = 100;
const ROWS = 120;
const PATIENCE_MS = 60_000;
const OPEN = "<!-- demo: recorded by scripts/pages/record-demo.ts -->";
const CLOSE = "<!-- /demo -->";
const PICTURE = "docs/assets/demo.svg";

// ── the terminal ──

/** What the terminal shows at the end, with its colours. */
async function record(root: string): Promise<string> {
  const name = `orgate-record-${process.pid}`;
  const tmux = (...args: string[]): string => {
    const { status, stdout, stderr } = spawnSync("tmux", ["-L", name, "-f", "/dev/null", ...args], { encoding: "utf8" });
    if (status !== 0) throw new Error(`tmux ${args[0]}: ${stderr.trim()}`);
    return stdout;
  };
  const demo = `'${process.execPath}' packages/orgate/bin/orgate.js demo`;
  const shell = `cd '${root}' && env -u NO_COLOR ${demo}; echo "exit $?"; sleep 600`;
  tmux("new-session", "-d", "-x", String(COLUMNS), "-y", String(ROWS), shell);
  try {
    for (const end = performance.now() + PATIENCE_MS; performance.now() < end; await pause(200)) {
      const exit = /^exit (\d+)$/m.exec(tmux("capture-pane", "-p"))?.[1];
      if (exit === undefined) continue;
      if (exit !== "0") throw new Error(`the demo exited ${exit}:\n${tmux("capture-pane", "-p").trim()}`);
      return tmux("capture-pane", "-p", "-e")
        .replace(/\n\S*exit 0[\s\S]*$/, "")
        .replace(/^\n+/, "");
    }
    throw new Error(`the demo did not end in ${PATIENCE_MS} ms`);
  } finally {
    tmux("kill-server");
  }
}

export function needTmux(): void {
  if (spawnSync("tmux", ["-V"]).status === 0) return;
  console.log("tmux is missing: installing it from Debian (apt-get install tmux)");
  if (spawnSync("apt-get", ["install", "-y", "tmux"], { stdio: "ignore" }).status === 0) return;
  throw new Error("there is no tmux, and it could not be installed: install tmux, then run this again");
}

// ── what came of it ──

const ESCAPE = String.fromCodePoint(27);
const COLOUR = new RegExp(`${ESCAPE}\\[([\\d;]*)m`, "g");
export const withoutColour = (text: string): string => text.replace(COLOUR, "");

/** Ids, hashes, processes, times, the folder, seals (which come by the clock) and where lines fold say nothing about whether the page is true. */
export function structureOf(text: string): string {
  return withoutColour(text)
    .replaceAll(/\b([sa]_)[a-z0-9]{8,}/g, "$1…")
    .replaceAll(/\b[0-9a-f]{12,64}\b/g, "#")
    .replaceAll(/\b(process|pid) \d+/g, "$1 …")
    .replaceAll(/\S*\/orgate-demo-\w+/g, "…/orgate-demo")
    .replaceAll(/\b\d+ seals?, /g, "… seals, ")
    .replaceAll(/\b(w\d+@)\d+:/g, "$1…:")
    .replaceAll(/^1 seal was made after a crash, .*\n/gm, "")
    .replaceAll(/\b\d+(\.\d+)? (ms|s)\b/g, "… ms")
    .replaceAll(/\s+/g, " ")
    .trim();
}

export function blockOf(readme: string): string {
  const [from, to] = [readme.indexOf(OPEN), readme.indexOf(CLOSE)];
  if (from === -1 || to < from) throw new Error(`README.md has no \`${OPEN}\` … \`${CLOSE}\``);
  return readme.slice(from + OPEN.length, to);
}

export const recordedIn = (block: string): string => /```text\n([\s\S]*?)```/.exec(block)?.[1] ?? "";

export function withBlock(readme: string, shown: string): string {
  const before = blockOf(readme);
  const text = withoutColour(shown)
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n");
  const block = `\n![the demo in a terminal](${PICTURE})\n\n<details><summary>the same as text</summary>\n\n\`\`\`text\n${text}\n\`\`\`\n\n</details>\n`;
  return readme.replace(`${OPEN}${before}${CLOSE}`, () => `${OPEN}${block}${CLOSE}`);
}

// ── the picture ──

const CELL = { width: 7.8, height: 17 };
const EDGE = 16;
const TEXT = "#d6deeb";
const FILLS: Readonly<Record<number, string>> = { 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 36: "#79c0ff" };

type Look = Readonly<{ fill: string; bold: boolean; dim: boolean }>;
const PLAIN: Look = { fill: TEXT, bold: false, dim: false };

/** A terminal's colours as a picture: every run of text stands at its own column, whatever the reader's font is. */
export function svgOf(shown: string, { columns = COLUMNS, label = "the demo in a terminal" } = {}): string {
  const lines = shown.split("\n");
  const [width, height] = [columns * CELL.width + 2 * EDGE, lines.length * CELL.height + 2 * EDGE];
  let look = PLAIN;
  const rows = lines.map((line, row) => {
    let column = 0;
    const y = (EDGE + (row + 0.75) * CELL.height).toFixed(1);
    return line
      .split(new RegExp(`(${ESCAPE}\\[[\\d;]*m)`))
      .map((piece) => {
        if (piece.startsWith(ESCAPE)) {
          look = lookAfter(look, piece);
          return "";
        }
        const start = column + (piece.length - piece.trimStart().length);
        column += [...piece].length;
        return piece.trim() === "" ? "" : run(piece.trim(), start, y, look);
      })
      .join("");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${label}">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13" xml:space="preserve">
${rows.filter((row) => row !== "").join("\n")}
</g>
</svg>
`;
}

function run(text: string, column: number, y: string, { fill, bold, dim }: Look): string {
  const x = (EDGE + column * CELL.width).toFixed(1);
  const long = ([...text].length * CELL.width).toFixed(1);
  const more = `${bold ? ' font-weight="bold"' : ""}${dim ? ' opacity="0.6"' : ""}`;
  const safe = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<text x="${x}" y="${y}" textLength="${long}" fill="${fill}"${more}>${safe}</text>`;
}

function lookAfter(before: Look, code: string): Look {
  const numbers = [...code.matchAll(/\d+/g)].map(([number]) => Number(number));
  let { fill, bold, dim } = before;
  for (const n of numbers.length === 0 ? [0] : numbers) {
    if (n === 0) ({ fill, bold, dim } = PLAIN);
    else if (n === 1) bold = true;
    else if (n === 2) dim = true;
    else if (n === 22) [bold, dim] = [false, false];
    else fill = n === 39 ? TEXT : (FILLS[n] ?? fill);
  }
  return { fill, bold, dim };
}

if (import.meta.main) {
  const root = join(import.meta.dirname, "../..");
  const readme = readFileSync(join(root, "README.md"), "utf8");
  needTmux();
  const shown = await record(root);
  if (process.argv.includes("--check")) {
    const same = structureOf(recordedIn(blockOf(readme))) === structureOf(shown);
    console.log(same ? "README shows what the demo does" : "README shows another demo: run `node scripts/pages/record-demo.ts`");
    process.exitCode = same ? 0 : 1;
  } else {
    mkdirSync(join(root, dirname(PICTURE)), { recursive: true });
    writeFileSync(join(root, PICTURE), svgOf(shown));
    writeFileSync(join(root, "README.md"), withBlock(readme, shown));
    console.log(`recorded: ${shown.split("\n").length} lines, into README.md and ${PICTURE}`);
  }
}
