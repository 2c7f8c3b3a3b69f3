/** Addresses of things. Every link is built here, so that a screen can move. */
import type { ApprovalId, PolicyId, Seq, SessionId, StreamId } from "@orgate/core/vocab";
import { pathTo } from "./router.ts";

export const chatWithPath = (agent: string): string => pathTo("/chat/with/{agent}", { agent });
export const chatPath = (session: SessionId): string => pathTo("/chat/{session}", { session });
export const sessionPath = (session: SessionId, at?: Seq): string =>
  `${pathTo("/sessions/{session}", { session })}${at === undefined ? "" : `?at=${at}`}`;
export const approvalPath = (approval: ApprovalId): string => pathTo("/approvals/{approval}", { approval });
export const policyPath = (policy: PolicyId): string => `/policies?${new URLSearchParams({ policy })}`;
/** A set of policies as the journal stored it. */
export const policySetPath = (set: string): string => `/policies?${new URLSearchParams({ show: "history", set })}`;
/** One entry of any stream. */
export const entryPath = (stream: StreamId, seq: number): string => pathTo("/journal/{stream}/{seq}", { stream, seq: String(seq) });
export const schedulePath = (schedule: string): string => pathTo("/schedules/{schedule}", { schedule });
