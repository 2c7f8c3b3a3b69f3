/** Abort signals of effects: they fire when the turn is cancelled, halted or out of time, or when a halt names one tool. */

export type Stops = Readonly<{
  /** Another turn, or none: what stopped one turn stops nothing that comes after it. */
  renew(): void;
  stopTurn(reason: string): void;
  isTurnStopped(): boolean;
  /** Fires when the turn is stopped, or the calls of this tool are. */
  of(tool: string | null): AbortSignal;
  /** Halts act at once, on the calls of the tools they name. */
  halt(isHalted: (tool: string) => boolean): void;
}>;

export function createStops(): Stops {
  let turn = new AbortController();
  const tools = new Map<string, AbortController>();

  function of(tool: string | null): AbortSignal {
    const { signal } = turn;
    if (tool === null) return signal;
    const known = tools.get(tool);
    if (known !== undefined && (!known.signal.aborted || signal.aborted)) return known.signal;
    const own = new AbortController(); // the first, or the tool was halted and goes on
    tools.set(tool, own);
    if (signal.aborted) own.abort(signal.reason);
    signal.addEventListener("abort", () => own.abort(signal.reason), { once: true });
    return own.signal;
  }

  return {
    renew() {
      turn = new AbortController();
      tools.clear();
    },
    stopTurn: (reason) => turn.abort(reason),
    isTurnStopped: () => turn.signal.aborted,
    of,
    halt(isHalted) {
      for (const [tool, controller] of tools) if (isHalted(tool)) controller.abort("halted");
    },
  };
}
