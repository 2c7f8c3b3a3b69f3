/** Processes that are measured, and what the machine says about them. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { MemberReport, MemberTask } from "./member.ts";

export type Members = Readonly<{
  /** All at once; so many rounds each. */
  run(rounds: number): Promise<readonly MemberReport[]>;
  close(): Promise<void>;
}>;

export async function openMembers(tasks: readonly MemberTask[]): Promise<Members> {
  const members: ChildProcess[] = [];
  for (const task of tasks) {
    const member = fork(join(import.meta.dirname, "member.ts"), [JSON.stringify(task)]);
    members.push(member);
    await messageOf(member); // one after the other: the first makes the project's keys
  }
  return {
    run: (rounds) =>
      Promise.all(
        members.map((member) => {
          const report = messageOf(member);
          member.send(rounds);
          return report as Promise<MemberReport>;
        }),
      ),
    async close() {
      await Promise.all(
        members.map(async (member) => {
          const gone = once(member, "exit");
          member.disconnect();
          await gone;
        }),
      );
    },
  };
}

async function messageOf(member: ChildProcess): Promise<unknown> {
  const early = once(member, "exit").then(([code]) => Promise.reject(new Error(`a member ended (${code})`)));
  early.catch(() => {}); // it ends when it is done, too
  const [message] = await Promise.race([once(member, "message"), early]);
  return message;
}

/** Of /proc: CPU time in microseconds, of a process and of its children, those that have ended included. Zero where there is no /proc. */
export function cpuOfTree(pid: number): number {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const stats = processes.flatMap((name) => statOf(Number(name)) ?? []);
  return stats.filter((one) => one.pid === pid || one.parent === pid).reduce((sum, one) => sum + one.ticks, 0) * (1e6 / TICKS_PER_SECOND);
}
const TICKS_PER_SECOND = 100;

function statOf(pid: number): Readonly<{ pid: number; parent: number; ticks: number }> | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const cells = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const [user, system, childUser, childSystem] = cells.slice(11, 15).map(Number);
    return { pid, parent: Number(cells[1]), ticks: (user ?? 0) + (system ?? 0) + (childUser ?? 0) + (childSystem ?? 0) };
  } catch {
    return null; // it has just ended
  }
}

/** Resident memory in megabytes. */
export function residentMb(pid: number): number {
  const found = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(found) / 1_024;
}
