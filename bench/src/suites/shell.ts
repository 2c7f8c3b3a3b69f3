/**
 * The shell on a terminal of its own (`script` makes one): from the start to the prompt, to the fleet, and from a key to the screen after 10,000 lines.
 * The floors are what the same terminal does with `node -e 0`, and with a bare `cat`, whose keys the kernel echoes.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spread } from "../measure.ts";
import { inFolder } from "../places.ts";
import { digits, type Line, type Report } from "../report.ts";

const ORGATE = fileURLToPath(new URL("../../../packages/orgate/bin/orgate.js", import.meta.url));
const AIMS = { promptMs: 300, keyMs: 16 };
const LINES = 10_000;
const AT_ONCE = 1_000;

type Terminal = Readonly<{
  /** Milliseconds since the start, when this was first to be seen; all that was written until then is taken away. */
  sees(words: string): Promise<number>;
  type(keys: string): void;
  /** From the key to the first byte of what is written because of it, and how many bytes that were. */
  press(key: string): Promise<Readonly<{ ms: number; bytes: number }>>;
  ended: Promise<number>;
  close(): void;
}>;

function open(command: string, cwd: string, env: Readonly<Record<string, string>>): Terminal {
  const began = performance.now();
  const child: ChildProcess = spawn("script", ["-qfec", `stty cols 80 rows 24; exec ${command}`, "/dev/null"], {
    cwd,
    env: { ...process.env, TERM: "xterm-256color", SHELL: "/bin/sh", ...env },
    stdio: ["pipe", "pipe", "ignore"],
  });
  let text = "";
  let heard = (_: string): void => {};
  child.stdout?.setEncoding("utf8").on("data", (more: string) => {
    text += more;
    heard(more);
  });
  const ended = new Promise<number>((resolve) => child.on("exit", () => resolve(performance.now() - began)));
  const sees = (words: string): Promise<number> =>
    new Promise((resolve) => {
      const look = (): void => {
        const at = text.indexOf(words);
        if (at < 0) return;
        heard = () => {};
        text = text.slice(at + words.length);
        resolve(performance.now() - began);
      };
      heard = look;
      look();
    });
  const press: Terminal["press"] = (key) =>
    new Promise((resolve) => {
      const pressed = performance.now();
      heard = (more) => {
        heard = () => {};
        resolve({ ms: performance.now() - pressed, bytes: Buffer.byteLength(more) });
      };
      child.stdin?.write(key);
    });
  return { sees, press, type: (keys) => void child.stdin?.write(keys), ended, close: () => child.kill() };
}

const TALKER = `name = "talker"
instructions = "You talk."
model = "offline/talker"
[[modelOptions.rules]]
say = """
${Array.from({ length: AT_ONCE }, (_, i) => `line ${i} of what there is to say, so that the screen has something to show`).join("\n")}
"""
`;

export async function shell({ rounds, keys }: { readonly rounds: number; readonly keys: number }): Promise<Report> {
  if (spawnSync("script", ["--version"]).status !== 0) return report([], [], ["there is no `script` here to make a terminal with"]);
  return inFolder(async (folder) => {
    const env = { ORGATE_HOME: join(folder, "home"), NODE_COMPILE_CACHE: join(folder, "cache") };
    const init = spawnSync(process.execPath, [ORGATE, "init", "p", "--profile", "minimal", "--yes"], {
      cwd: folder,
      env: { ...process.env, ...env },
    });
    if (init.status !== 0) throw new Error(String(init.stderr));
    const project = join(folder, "p");
    writeFileSync(join(project, "agents", "talker.toml"), TALKER);
    const command = `'${process.execPath}' '${ORGATE}' shell`;
    const [floor, prompt, fleet]: [number[], number[], number[]] = [[], [], []];
    for (let round = -1; round < rounds; round += 1) {
      const bare = await open(`'${process.execPath}' -e 0`, project, env).ended;
      const one = open(command, project, env);
      const drawn = await one.sees("› ");
      one.type("/agents\r");
      const known = await one.sees("talker");
      one.type("/quit\r");
      await one.ended;
      if (round < 0) continue; // the first fills caches
      floor.push(bare);
      prompt.push(drawn);
      fleet.push(known);
    }
    const pressed = await pressing(command, project, env, keys);
    const echoed = await echoing(project, env, keys);
    const lines: readonly Line[] = [
      line("node -e 0, to its end (floor)", floor, null, ""),
      line("orgate shell, to its prompt", prompt, floor, ""),
      line("orgate shell, to the fleet", fleet, floor, "project read, policies checked, server up, a command asked and answered"),
      line("a key echoed by the kernel (floor)", echoed, null, ""),
      line(
        `a key, after ${LINES.toLocaleString("en-US")} lines`,
        pressed.ms,
        echoed,
        `${digits(spread(pressed.bytes).median)} bytes written for a key`,
      ),
    ];
    const [start, key] = [spread(prompt).median, spread(pressed.ms)];
    return report(
      lines,
      [
        {
          what: "start to prompt",
          want: `≤ ${AIMS.promptMs} ms`,
          got: `${digits(start)} ms, node -e 0 ${digits(spread(floor).median)}`,
          met: start <= AIMS.promptMs,
        },
        {
          what: "key to screen",
          want: `≤ ${AIMS.keyMs} ms`,
          got: `${digits(key.median)} ms [${digits(key.min)}–${digits(key.max)}]`,
          met: key.median <= AIMS.keyMs,
        },
      ],
      ["on a pseudo-terminal of 80 columns; from source, with a compile cache"],
    );
  });
}

/** What was said before stands in the scrollback: it is written once, and no key writes it again. */
async function pressing(command: string, project: string, env: Readonly<Record<string, string>>, keys: number) {
  const one = open(command, project, env);
  await one.sees("› ");
  one.type("/agent use talker\r");
  await one.sees("you talk to talker");
  for (let said = 0; said < LINES; said += AT_ONCE) {
    one.type("go on\r");
    await one.sees(`line ${AT_ONCE - 1} of`);
    await one.sees("iteration");
  }
  await new Promise((resume) => setTimeout(resume, 500)); // nothing is drawn any more
  const found: { ms: number; bytes: number }[] = [];
  for (let i = 0; i < keys; i += 1) found.push(await one.press(String.fromCodePoint(97 + (i % 26))));
  one.close();
  await one.ended;
  return { ms: found.map(({ ms }) => ms), bytes: found.map(({ bytes }) => bytes) };
}

async function echoing(project: string, env: Readonly<Record<string, string>>, keys: number): Promise<readonly number[]> {
  const one = open("cat", project, env);
  const found: number[] = [];
  for (let i = 0; i < keys; i += 1) found.push((await one.press("a")).ms);
  one.close();
  await one.ended;
  return found;
}

const line = (label: string, samples: readonly number[], floor: readonly number[] | null, more: string): Line => ({
  label,
  cpu: null,
  wall: spread(samples),
  ratio: floor === null ? null : spread(samples).median / spread(floor).median,
  more,
});
const report = (lines: readonly Line[], aims: Report["aims"], notes: readonly string[]): Report => ({
  name: "shell",
  title: "The shell",
  unit: "ms",
  by: "wall",
  lines,
  aims,
  notes,
});
