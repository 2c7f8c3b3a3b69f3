/** Skipping the gate does not type-check (rule 1). Each of these lines must be an error; `tsc` fails when one is not. */
import { act, type Run } from "../act/act.ts";
import { drive } from "../loop/drive.ts";
import type { Held } from "../loop/open.ts";
import type { Ports } from "../loop/ports.ts";
import type { ActionText, Limits, Seq, ToolContext } from "../vocab/index.ts";
import type { Permit, Receipt, Redeem, turnstile } from "./turnstile.ts";

declare const pass: ReturnType<typeof turnstile>;
declare const redeem: Redeem;
declare const run: Run;
declare const action: ActionText;
declare const ports: Ports;
declare const held: Held;
declare const limits: Limits;
declare const signal: ToolContext["signal"];

// @ts-expect-error P-1 an object of the same fields is no permit
void act({ action, decidedAt: 1 as Seq }, redeem, run);
// @ts-expect-error P-1 no permit at all
void act(null, redeem, run);
// @ts-expect-error P-1 an approval flag is no permit
void act({ approved: true }, redeem, run);
// @ts-expect-error P-1 a receipt is no permit
void act({} as Receipt, redeem, run);
// @ts-expect-error P-1 a sequence number is no receipt
pass.issuePermit({ first: 1 as Seq }, action);
// @ts-expect-error P-1 a permit is no receipt
pass.issuePermit({} as Permit, action);
const { gate: _, ...gateless } = ports;
// @ts-expect-error L-21 a session without a gate does not type-check
void drive(gateless, held, { limits, cancel: signal });
// @ts-expect-error L-21 nor with an undefined one
void drive({ ...ports, gate: undefined }, held, { limits, cancel: signal });
