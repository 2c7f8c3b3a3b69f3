/** Results of operations as the coordinator's model gets them: fewer fields than a person sees, and no words of a session. */
import { countNoun, type Json, type JsonObject } from "@orgate/core";
import type { OperationName, OperationOutput } from "@orgate/protocol";
import { timeText, whenText } from "@orgate/protocol/view";
import type { ToolShown, ToolWords } from "@orgate/protocol/words";
import type { Runtime } from "../../runtime/api.ts";
import { act } from "../access.ts";
import { aboutQuestion } from "../acts.ts";
import type { CallerAccess } from "./caller-access.ts";

/** `given` is what the model gave. */
export type ShownContext = Readonly<{
  inspect: Pick<Runtime["inspect"], "session">;
  access: Pick<CallerAccess, "refuses">;
  given: JsonObject;
  now: number;
}>;
type Projections = {
  readonly [K in OperationName]?: (value: OperationOutput<K>, context: ShownContext) => JsonObject | Promise<JsonObject>;
};

/** Results that the words of a tool cannot describe. */
const PROJECTIONS: Projections = {
  approvals: showApprovals,
  cancel: ({ session, entry }) => ({
    session,
    cancelled: entry !== null,
    note: entry === null ? "the process that holds the session has not read it yet" : "",
  }),
  setBreaker: ({ breaker, written }, { given }) => ({ breaker, to: written, minutes: given["minutes"] ?? null }),
};

export async function toShown(name: OperationName, { shows }: ToolWords, value: unknown, context: ShownContext): Promise<JsonObject> {
  const project = PROJECTIONS[name] as ((value: unknown, context: ShownContext) => JsonObject | Promise<JsonObject>) | undefined; // by the same name
  if (project !== undefined) return project(value, context);
  if (shows === undefined) throw new Error(`nothing says what a model gets of \`${name}\``);
  const items = readPath(value, "items");
  const rows = (Array.isArray(items) ? items : []).map((item) =>
    Object.fromEntries(Object.entries(shows.fields).map(([field, shown]) => [field, toField(item, shown, context.now)])),
  );
  return { count: rows.length, more: readPath(value, "next") !== null, [shows.list]: rows }; // W-36
}

export const hasProjection = (name: OperationName): boolean => PROJECTIONS[name] !== undefined;

function readPath(from: unknown, path: string): unknown {
  let value = from;
  for (const step of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return null;
    value = Reflect.get(value, step);
  }
  return value;
}

type Schedule = OperationOutput<"schedule">;

function toField(item: unknown, shown: ToolShown, now: number): Json {
  if (typeof shown === "string") return plainValue(readPath(item, shown));
  const value = readPath(item, shown.from);
  switch (shown.as) {
    case "ago":
      return typeof value === "number" ? agoText(now - value) : null;
    case "time":
      return typeof value === "number" ? timeText(value) : null;
    case "due":
      return typeof value === "number" ? timeText(value) : "never";
    case "times":
      return whenText(value as Schedule["spec"]); // decoded by the operation's own schema
    case "firing": {
      const last = value as Schedule["last"]; // as above
      return last === null ? "never" : `${timeText(last.dueAt)} ${last.ending ?? "not over"}`;
    }
  }
}

/** Nothing with fields of its own: a word that the table forgot to name must not bring the words of a session along. */
const plainValue = (value: unknown): Json =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;

/** Each request, with whether the people of the conversation may answer it: they do that themselves, never the model. */
async function showApprovals({ items, next }: OperationOutput<"approvals">, { inspect, access, now }: ShownContext): Promise<JsonObject> {
  const waiting = await Promise.all(
    items.map(async (request) => {
      const about = await aboutQuestion(inspect, request);
      const why = access.refuses(act("approve", "approval", about));
      return {
        approval: request.approval,
        agent: request.agent,
        session: request.session,
        tool: request.tool,
        touches: request.resource === null ? "" : `${request.resource.type} ${request.resource.id}`,
        questions: request.asks.map(({ question }) => question).join(" "),
        for: about.requester ?? null,
        ago: agoText(now - request.askedAt),
        yours: why === null,
        answer: why === null ? "you may answer it" : `not for you to answer: ${why}`,
      };
    }),
  );
  return { count: waiting.length, forYou: waiting.filter(({ yours }) => yours).length, more: next !== null, waiting };
}

export function agoText(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min`;
  return s < 86_400 ? `${Math.floor(s / 3_600)} h` : countNoun(Math.floor(s / 86_400), "day");
}
