/** The runners that the host brings: programs and HTTP. MCP servers are asked by whoever holds their connections. */
import type { Invocation, Ran, Running, RunOptions } from "@orgate/core/contracts";
import { type HttpGuardOptions, httpGuard } from "./http-guard.ts";
import { type Sandbox, type SandboxOptions, sandbox } from "./sandbox.ts";

export type HostRunningOptions = SandboxOptions & HttpGuardOptions;

export type HostRunning = Running & Pick<Sandbox, "standing">;

export function hostRunning(options: HostRunningOptions = {}): HostRunning {
  const programs = sandbox(options);
  const http = httpGuard(options);
  return { run: (invocation, how) => ran(invocation, how), standing: programs.standing };

  async function ran(invocation: Invocation, how: RunOptions): Promise<Ran> {
    switch (invocation.kind) {
      case "process":
        return programs.run(invocation, how);
      case "http":
        return http(invocation, how);
      case "mcp":
        return { kind: "refused", reason: "no MCP server is connected here", hint: "name it in the project's MCP servers" };
    }
  }
}
