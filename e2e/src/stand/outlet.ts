/**
 * The victim's line to the counter: descriptor 3, a socket that the runner connected. Written synchronously, so that the counter's log has
 * everything the victim did before it died, in the order in which it did it.
 */
import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { seeded } from "../seeded.ts";
import { decode, encode, isSealAlone, lines, type Orders, type Reply, type Said, type Stop } from "./wire.ts";

const LINE = 3;
export const orders = decode<Orders>(process.env.ORGATE_E2E ?? "null");
const random = orders.seed === null ? null : seeded(orders.seed);
const cell = new Int32Array(new SharedArrayBuffer(4));

export function tell(said: Said): void {
  for (let bytes = Buffer.from(encode(said)); bytes.length > 0; ) {
    try {
      bytes = bytes.subarray(writeSync(LINE, bytes));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
      Atomics.wait(cell, 0, 0, 1);
    }
  }
}

let passed = 0;
const met = new Set<string>();
/** Reports where the process is. At the point where it should freeze, only a kill ends it. */
export function point(said: Extract<Said, { point: string }>): void {
  tell(said);
  passed += 1;
  met.add(said.point);
  const { stop } = orders;
  if (stop === null || !isHere(stop, said)) return;
  tell({ kind: "reached", point: said.point });
  for (;;) Atomics.wait(cell, 0, 0);
}

function isHere(stop: Stop, said: Extract<Said, { point: string }>): boolean {
  switch (stop.kind) {
    case "at":
      return stop.point === said.point;
    case "nth":
      return stop.nth === passed;
    case "writes":
      return said.kind === "mark" && said.step === stop.step && said.written.some(({ kind }) => kind === stop.event);
    case "seals":
      return said.kind === "mark" && said.step === stop.step && isSealAlone(said) && (stop.after === null || met.has(stop.after));
  }
}

/** A short random pause that blocks the whole process. */
export function linger(most: number): void {
  if (random !== null) Atomics.wait(cell, 0, 0, random.between(0, most));
}
/** A short random pause that blocks nothing else. */
export async function stay(most: number): Promise<void> {
  const ms = random?.between(0, most);
  if (ms !== undefined) await new Promise((resume) => setTimeout(resume, ms));
}

const waiting = new Map<number, (value: string | null) => void>();
let requests = 0;
let line: Socket | null = null;

export const request = (): number => ++requests;

/** The counter's answer to a request that is being sent; rejects as soon as the signal fires. */
export function answerTo(id: number, signal: AbortSignal): Promise<string | null> {
  line ??= listen();
  line.ref();
  return new Promise((resolve, reject) => {
    waiting.set(id, resolve);
    const stop = (): void => {
      over(id);
      reject(new Error("stopped"));
    };
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** A process that waits for nothing may end: the line does not keep it. */
function over(id: number): void {
  waiting.delete(id);
  if (waiting.size === 0) line?.unref();
}

function listen(): Socket {
  const socket = new Socket({ fd: LINE, readable: true, writable: false });
  const take = lines((text) => {
    const { request: id, value } = decode<Reply>(text);
    waiting.get(id)?.(value);
    over(id);
  });
  socket.setEncoding("utf8").on("data", take);
  return socket;
}
