/** What a crash run says about a peer: one row of docs/benchmarks/crash.json, written by src/crash and shown by src/page.ts. */
export type CrashRow = Readonly<{
  peer: string;
  version: string;
  /** Where the process was killed. `parked`: waiting for an approval. `approved`: inside a tool that a person had approved. */
  case: "model" | "tool" | "parallel" | "parked" | "approved";
  /** W5: the same peer, killed and started again. W6: parked, killed, answered by another process. */
  workload: "W5" | "W6";
  /** The run did not come to its end after the restart by the peer's documented way to go on. */
  lost: boolean;
  /** Effects that happened more often than they were decided, as a separate process counted them. */
  effectsDoubled: number;
  /** Model calls that had been made before the kill and were made again, counted alike. */
  callsRepeated: number;
  note: string;
  /** Repetitions; the figures are the worst of them. */
  runs: number;
}>;
