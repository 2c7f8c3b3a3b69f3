/**
 * T-28 nothing that a program started outlives it. The kernel ends everything in a sandbox with the first process inside, and that one ends
 * with bubblewrap; but while bubblewrap is still setting things up, its child does not yet know whom to die with.
 */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";

/** Held still first, so that no child can be born between the look and the blow. */
export function endAll(child: ChildProcess): void {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null || !child.kill("SIGSTOP")) return;
  for (let look = 0; look < 1000 && !["T", "Z", null].includes(stateOf(pid)?.state ?? null); look += 1);
  const first = textOf(`/proc/${pid}/task/${pid}/children`).split(" ").map(Number).filter(Boolean);
  child.kill("SIGKILL");
  for (const one of first) kill(one);
}

/** For a program without a sandbox: its process group, where there are such groups. */
export function endGroup(child: ChildProcess): void {
  if (process.platform === "win32") child.kill();
  else if (child.pid !== undefined) kill(-child.pid);
}

/** Some ten seconds in all; whatever still stands then is not for us to end. */
const LOOKS = 300;

/** Until the first process inside is gone: the kernel lets it go last. What then stands in the table of processes is only waiting to be counted. */
export async function waitUntilGone(first: number): Promise<void> {
  const birth = stateOf(first)?.birth ?? null;
  for (let look = 0; look < LOOKS; look += 1) {
    const now = stateOf(first);
    if (birth === null || now === null || now.birth !== birth || now.state === "Z" || now.state === "X") return;
    if (look === 120) kill(first);
    await new Promise<void>((done) => void (look < 20 ? setImmediate(done) : setTimeout(done, look < 120 ? 1 : 50)));
  }
}

function stateOf(pid: number): { readonly state: string; readonly birth: string } | null {
  const text = textOf(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return text === "" ? null : { state: fields[0] ?? "", birth: fields[19] ?? "" };
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // gone
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
