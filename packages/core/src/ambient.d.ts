// What `core` may take from its surroundings, and nothing else: every runtime has these two, and the rest arrives through ports.
// (Not part of the published types: a user's own `lib` or `@types/node` declares them.)
interface AbortSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
  throwIfAborted(): void;
}
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}
