/** The part of a runtime that is for people: approvals, grants, halts, circuit breakers, failed calls, trusted values, labels. */
import {
  type Agent,
  approvalId,
  FaultError,
  type Gate,
  type IntentBody,
  type IntentMessage,
  type Journal,
  label,
  type RunResult,
  type SessionId,
} from "@orgate/core";
import { toAttachments } from "../files/file-input.ts";
import type { Person } from "../store/keyring.ts";
import type { Approvals, Breakers, IntentOutcome, MessageInput, Runtime } from "./api.ts";
import { carryOrTakeOver } from "./delivery.ts";
import { type Acting, haltWork, listOrdersInForce, resumeWork, revokeGrant, viewApprovalRequest } from "./people/approvals.ts";
import { refuseUnknownScope } from "./people/halt-scope.ts";
import type { Outside } from "./ports/outside.ts";
import type { OpenProjectStore } from "./ports/project-store.ts";

/** Loaded when a person first does something: most processes that run agents do nothing else. Halting is here already: it must work on a bad day. */
const breakers = () => import("./people/breakers.ts");
const deadLetters = () => import("./people/dead-letters.ts");
const intents = () => import("./people/send-intent.ts");
const settledRequests = () => import("./people/settled-request.ts");
const trustedValues = () => import("./people/trusted-values.ts");

export type OperatorParts = Readonly<{
  place: OpenProjectStore;
  directory: string;
  gate: Gate;
  agents: readonly Agent[];
  outside: Pick<Outside, "clock" | "ids">;
  resume(session: SessionId): Promise<RunResult>;
}>;

export type OperatorApi = Pick<
  Runtime,
  "approvals" | "halt" | "resumeWork" | "halts" | "breakers" | "deadLetters" | "known" | "unlabel" | "resolve" | "followUp"
>;

export function operatorApi(parts: OperatorParts): OperatorApi {
  const { place, gate, agents, outside } = parts;
  const { journal } = place.store;
  const { now } = outside.clock;
  const acting = (person: Person): Acting & { readonly place: OpenProjectStore } => ({ place, gate, person });
  const send = (session: SessionId, wish: IntentBody, as: Person) => sendAndDrive(parts, session, wish, as);
  const standing = async () => {
    await place.orders.refresh();
    return listOrdersInForce(place.orders, now());
  };
  return {
    approvals: approvalsOf(parts, acting, async () => (await standing()).grants),
    async halt(scope, reason, as, { anyway = false } = {}) {
      const unknown = anyway ? null : refuseUnknownScope(agents, scope, "`{ anyway: true }` as fourth argument");
      if (unknown !== null) throw unknown;
      await haltWork(acting(as), scope, reason);
    },
    resumeWork: (scope, reason, as) => resumeWork(acting(as), scope, reason),
    halts: async () => (await standing()).halts,
    breakers: breakersApi(parts, acting),
    deadLetters: {
      list: ({ after = 0, most = 100 } = {}) => journal.deadLetters({ after, most }),
      show: async (session, call) => (await deadLetters()).viewDeadLetter(journal, session, call),
      dismiss: ({ session, call, note = "" }, as) => send(session, { kind: "dismiss", call, note }, as),
    },
    known: {
      list: ({ set = null, after = null, most = 100 } = {}) => journal.known({ set, after, most }),
      add: async (entry, as) => (await trustedValues()).editTrustedValues(acting(as), "known.added", entry, now),
      remove: async (entry, as) => (await trustedValues()).editTrustedValues(acting(as), "known.removed", entry, now),
    },
    unlabel: ({ session, labels, why }, as) => send(session, { kind: "unlabel", labels: labels.map(label), why }, as),
    resolve: ({ session, call, as: resolution, note = "" }, as) => send(session, { kind: "resolve", call, as: resolution, note }, as),
    followUp: (session, said, as) => send(session, { kind: "follow-up", ...toSpoken(said) }, as),
  };
}

type ActAs = (person: Person) => Acting & { readonly place: OpenProjectStore };

function breakersApi({ agents, place, outside }: OperatorParts, acting: ActAs): Breakers {
  const { journal } = place.store;
  const list: Breakers["list"] = async () => (await breakers()).readBreakers(journal, outside.clock.now());
  const set: Breakers["set"] = async (breaker, { to, forMs = null, reason, anyway = false }, as) => {
    const { setBreaker, unknownBreaker } = await breakers();
    const unknown = anyway ? null : unknownBreaker(agents, await list(), breaker, "`anyway: true`");
    if (unknown !== null) throw unknown;
    await setBreaker(acting(as), breaker, { to, forMs, reason }, outside.clock.now());
  };
  return { list, set, reset: (breaker, reason, as) => set(breaker, { to: "closed", reason }, as) };
}

function approvalsOf(parts: OperatorParts, acting: ActAs, grants: Approvals["grants"]): Approvals {
  const { journal } = parts.place.store;
  return {
    list: ({ after = 0, most = 100 } = {}) => journal.questions({ after, most }),
    async show(approval) {
      const [found] = await journal.question(approvalId(approval));
      if (found === undefined) return null;
      return viewApprovalRequest(journal, found.session, found.approval, parts.outside.clock.now());
    },
    async answer(answer, as) {
      const [found] = await journal.question(answer.approval);
      if (found === undefined) throw await nothingOpen(journal, answer.approval, as);
      return sendAndDrive(parts, found.session, { kind: "answer", ...answer }, as);
    },
    grants,
    revoke: async (grant, reason, as) => void (await revokeGrant(acting(as), grant, reason)),
  };
}

/** Signs an intent and puts it where the holder of the session sees it; drives the session here when nobody holds it. */
async function sendAndDrive(
  { place, directory, outside, resume }: OperatorParts,
  session: SessionId,
  wish: IntentBody,
  as: Person,
): Promise<IntentOutcome> {
  let result: RunResult | null = null;
  const takeOver = async (): Promise<"drove"> => {
    result = await resume(session);
    return "drove";
  };
  const { journal, inbox } = place.store;
  const { sendIntent } = await intents();
  const carrier = carryOrTakeOver({ inbox, directory, waitMs: HOLDER_MS, takeOver });
  const { entry } = await sendIntent({ journal, clock: outside.clock, carrier }, { session, wish, as, id: outside.ids.intent() });
  return { entry, result };
}

/** How long the process that holds a session may take to answer an intent. */
const HOLDER_MS = 10_000;

function toSpoken(said: string | MessageInput): IntentMessage {
  const { text, files = [] } = typeof said === "string" ? { text: said } : said;
  return files.length === 0 ? { text } : { text, files: toAttachments(files) };
}

/** */
async function nothingOpen(journal: Journal, approval: string, as: Person): Promise<FaultError> {
  const { findSettledRequest, settledFault } = await settledRequests();
  const settled = await findSettledRequest(journal, approval, { me: `user:${as.name}` });
  if (settled !== null) return settledFault(settled);
  return new FaultError({
    kind: "usage",
    detail: `there is no open approval request \`${approval}\``,
    hint: "`approvals.list()` shows what waits",
  });
}
