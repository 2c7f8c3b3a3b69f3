/** The runners that the host brings: programs and HTTP. MCP servers are called over their own connections. */
import type { Invocation, InvocationResult, InvocationRunner, RunOptions } from "../contract/running.ts";
import type { HttpGuardOptions, httpGuard } from "./http-guard.ts";
import type { Sandbox, SandboxOptions } from "./sandbox.ts";

export type HostRunningOptions = SandboxOptions & HttpGuardOptions;

export type HostRunning = InvocationRunner & Pick<Sandbox, "standing">;

/** For who stays: files that are loaded late may be those of another version by then. */
export async function loadRunners(): Promise<void> {
  await Promise.all([import("./sandbox.ts"), import("./http-guard.ts")]);
}

export function hostRunning(options: HostRunningOptions = {}): HostRunning {
  // R-8 loaded when the first of them runs: most commands read what tools there are and run none
  let opened: Promise<Sandbox> | null = null;
  const programs = (): Promise<Sandbox> => {
    opened ??= import("./sandbox.ts").then(({ sandbox }) => sandbox(options));
    return opened;
  };
  return { run: (invocation, how) => ran(invocation, how), standing: async () => (await programs()).standing() };

  async function ran(invocation: Invocation, how: RunOptions): Promise<InvocationResult> {
    switch (invocation.kind) {
      case "process":
        return (await programs()).run(invocation, how);
      case "http":
        return (await import("./http-guard.ts")).httpGuard(options)(invocation, how);
      case "mcp":
        return { kind: "refused", reason: "no MCP server is connected here", hint: "name it in the project's MCP servers" };
    }
  }
}

/** How hosts are reached that somebody else names, by the guard of HTTP tools. */
export const httpReach: ReturnType<typeof httpGuard> = async (invocation, how) =>
  (await import("./http-guard.ts")).httpGuard()(invocation, how);
