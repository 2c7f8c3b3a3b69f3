// The only globals that `core` may use: every runtime has these three, and the rest arrives through ports.
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
/** Addresses of the web, host names in ASCII: the one parser that everybody who fetches uses too. */
interface URL {
  readonly protocol: string;
  readonly username: string;
  readonly password: string;
  readonly hostname: string;
  readonly port: string;
  readonly pathname: string;
  readonly search: string;
  readonly hash: string;
  readonly href: string;
}
declare const URL: { parse(text: string): URL | null };
