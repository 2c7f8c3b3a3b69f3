/** What a framework is to the harness: something that is opened once, runs the work, and is closed. */
import type { Work } from "./workload.ts";

export type Place = Readonly<{
  work: Work;
  /** Where a durable variant keeps what it keeps; empty when it is opened. */
  folder: string;
  /** W7: how many policies decide each call. */
  policies: number;
  /** The mid-run check: `look` is called when this call of the tool has begun. In this process it is the tool that calls it. */
  pause: Readonly<{ at: number; look(): void }> | null;
}>;

export type Opened = Readonly<{
  /** One session from the user's message to the final text, which it returns. Many may run at once. */
  run(): Promise<string>;
  close(): Promise<void>;
  /** W7: `times` decisions like those of the loop, and nothing else. */
  decide?(times: number): void | Promise<void>;
  /** Where it keeps what it keeps, when that is not the folder it was given. */
  folder?: string;
  /** Before the counts are checked, where another process has them. */
  settle?(): Promise<void>;
  /** Of the process that does the work, where that is another one. */
  usage?(): Usage;
}>;

/** CPU microseconds of all threads, and bytes handed to the kernel for writing (null where the system does not tell). */
export type Usage = Readonly<{ cpuUs: number; written: number | null }>;

export type Open = (place: Place) => Promise<Opened>;
