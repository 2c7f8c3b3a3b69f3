/**
 * Invocations that a contract hands to a runner, and the results that come back. The model never sees any of it: it fills typed fields, and these are built
 * from the manifest. Runners are adapters of the host: processes in a sandbox, guarded HTTP, MCP clients.
 */
import type { Json, JsonObject } from "@orgate/core/vocab";

/** Limits of a process. A limit that a runner cannot put in force makes it refuse. */
export type ProcessLimits = Readonly<{
  memoryBytes: number;
  processes: number;
  fileBytes: number;
  openFiles: number;
  timeMs: number;
  outputBytes: number;
}>;

/** `none`: no sandbox, which must be permitted. `process`: no network unless scoped, read-only system, private temporary folder. */
export type Tier = "none" | "process";

export type PathAccess = Readonly<{ path: string; access: "read" | "write" }>;

export type ProcessInvocation = Readonly<{
  kind: "process";
  /** Never through a shell; the first item is the program. */
  argv: readonly string[];
  cwd: string | null;
  env: Readonly<Record<string, string>>;
  stdin: string | null;
  /** The hosts it may reach; null: none at all. */
  network: readonly string[] | null;
  /** Visible beside the system's own folders. */
  paths: readonly PathAccess[];
  tier: Tier;
  limits: ProcessLimits;
}>;

export type HttpInvocation = Readonly<{
  kind: "http";
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string | null;
  /** The hosts it may reach, redirects included; what lies in a private range is reached only when it is named here. `!host`: not that one. */
  allow: readonly string[];
  timeMs: number;
  outputBytes: number;
}>;

export type McpInvocation = Readonly<{ kind: "mcp"; server: string; tool: string; args: JsonObject; timeMs: number; outputBytes: number }>;

export type Invocation = ProcessInvocation | HttpInvocation | McpInvocation;

/** `refused`: nothing was started. `stopped`: it had started, and was ended from outside. */
export type InvocationResult =
  | Readonly<{
      kind: "exited";
      code: number | null;
      signal: string | null;
      stdout: string;
      stderr: string;
      truncated: boolean;
      durationMs: number;
    }>
  | Readonly<{
      kind: "responded";
      status: number;
      headers: Readonly<Record<string, string>>;
      body: string;
      truncated: boolean;
      durationMs: number;
    }>
  | Readonly<{ kind: "answered"; output: Json; isError: boolean; truncated: boolean; durationMs: number }>
  | Readonly<{ kind: "refused"; reason: string; hint: string }>
  | Readonly<{
      kind: "stopped";
      by: "time" | "memory" | "processes" | "output" | "signal" | "connection";
      detail: string;
      stdout: string;
      stderr: string;
      durationMs: number;
    }>;

export type RunOptions = Readonly<{
  signal: AbortSignal;
  /** Output as it comes, in pieces; a preview, never the result. */
  onOutput(piece: string): void;
}>;

export type InvocationRunner = Readonly<{ run(invocation: Invocation, options: RunOptions): Promise<InvocationResult> }>;
