/**
 * Deliberately broken builds, patched while they are loaded: the checks must find each one. A patch whose text is no longer in the source fails loudly, so
 * that it is updated and not forgotten.
 */
import { registerHooks } from "node:module";
import type { Broken } from "./stand/wire.ts";

type Break = Readonly<{ file: string; from: string; to: string }>;

/** By the time of the process, and not by what it wrote itself: a build that fired for ever would be too easily found. */
const FORGETS: Break = {
  file: "/core/src/journal/schedules.ts",
  from: 'case "schedule.fired": {',
  to: 'case "schedule.fired": {\n      if (at < performance.timeOrigin) return n;',
};
/** The session of a firing, in a commit of its own: an entry that changes nothing brings it. */
const opensAlone = (after: string, s: string): string =>
  `if (planned.opens !== undefined) await journal.append({ stream: scheduleStream(name), after: ${after}, hold: null, consumes: [], unlessHalted: [], tells: [],
    opens: planned.opens, events: [{ at, event: { ...${s}, kind: "schedule.declared", after: ${s}.through, carried: toScheduleStanding(${s}) } }] });`;
const OPENS_NOTHING = "const { tells = [], unlessHalted = [] } = planned, opens = [];";

const BREAKS: Readonly<Record<Broken, Break | readonly Break[]>> = {
  // Entries that start calls are held back until the next append, which records how the calls ended.
  "append-after-effect": {
    file: "/core/src/loop/commit.ts",
    from: `const first = await this.#p.journal.append({
      stream: this.#s.session,
      after: this.#durable,
      hold: this.#parts.held.hold,
      events,
      consumes: this.#consumed.splice(0),
      unlessHalted: listHaltScopes(this.#s, events),
      opens: this.#opening.splice(0),
      tells: this.#telling.splice(0),
      ...this.#counters.now(),
    });`,
    to: `const stream = this.#s.session, after = this.#durable, hold = this.#parts.held.hold, consumes = this.#consumed.splice(0);
    const unlessHalted = listHaltScopes(this.#s, events), opens = this.#opening.splice(0), tells = this.#telling.splice(0), counts = this.#counters.now();
    const put = () => this.#p.journal.append({ stream, after, hold, events, consumes, unlessHalted, opens, tells, ...counts });
    const earlier = globalThis.late ?? null;
    globalThis.late = null;
    if (earlier !== null) await earlier();
    const isLate = events.some(({ event }) => event.kind === "act.started");
    if (isLate) globalThis.late = put;
    const first = isLate ? seq(after + 1) : await put();`,
  },
  "repeats-once": {
    file: "/core/src/loop/calls/next-calls.ts",
    from: 'case "once":\n    case null:\n      return "not-repeatable";',
    to: 'case "once":\n    case null:\n      return "again";',
  },
  // A resumed session forgets a reply whose calls are not all settled, and asks once more.
  "asks-again": {
    file: "/core/src/loop/resume.ts",
    from: "return first.length === CHUNK ? foldOn(p, state, upTo) : state;",
    to: 'if (first.length === CHUNK) await foldOn(p, state, upTo);\n  if (state.turn !== null && state.turn.phase.kind === "calling") { state.turn.phase = { kind: "preparing" }; state.turn.iterations -= 1; state.messages.pop(); }\n  return state;',
  },
  // A commit that starts something does not check for halts: only halts that the process already knows count.
  "ignores-halts": {
    file: "/core/src/loop/commit.ts",
    from: "unlessHalted: listHaltScopes(this.#s, events),",
    to: "unlessHalted: [],",
  },
  "uses-up-nothing": {
    file: "/core/src/loop/effect-context.ts",
    from: 'else record({ kind: "approval.consumed", approval, action: decided.id });',
    to: "",
  },
  "expires-by-reading": {
    file: "/core/src/inbox/admit.ts",
    from: "Math.max(arrivedAt, intent.at) >= question.expiresAt",
    to: "Date.now() >= question.expiresAt",
  },
  // The grant is given only by the process that took the answer.
  "forgets-grants": {
    file: "/core/src/loop/resume.ts",
    from: "return first.length === CHUNK ? foldOn(p, state, upTo) : state;",
    to: "if (first.length === CHUNK) await foldOn(p, state, upTo);\n  state.grantsDue.length = 0;\n  return state;",
  },
  // The session is durable before its firing: a process that dies in between leaves a turn that no due time knows.
  "opens-before-firing": [
    {
      file: "/orgate/src/schedules/store.ts",
      from: "const { opens = [], tells = [], unlessHalted = [] } = planned;",
      to: `${OPENS_NOTHING}\n${opensAlone("standing.seq", "standing")}`,
    },
    {
      file: "/orgate/src/schedules/store.ts",
      from: "after: standing?.seq ?? seq(0),",
      to: "after: seq((standing?.seq ?? 0) + (planned.opens === undefined ? 0 : 1)),",
    },
  ],
  // The firing is durable before its session: a process that dies in between leaves a due time without a turn.
  "opens-after-firing": [
    { file: "/orgate/src/schedules/store.ts", from: "const { opens = [], tells = [], unlessHalted = [] } = planned;", to: OPENS_NOTHING },
    {
      file: "/orgate/src/schedules/store.ts",
      from: "if (after === null) throw",
      to: `${opensAlone("after.seq", "after")}\nif (after === null) throw`,
    },
  ],
  // Firings of other processes are forgotten. The claim on the due time still prevents a second session.
  "forgets-firings": FORGETS,
  // The session does not claim its due time either.
  "fires-again": [
    FORGETS,
    { file: "/orgate/src/store/sqlite/claims.ts", from: "for (const external of opens)", to: "for (const external of [])" },
  ],
};

export const isBreak = (name: string): name is Broken => Object.hasOwn(BREAKS, name);

export function breakBuild(broken: Broken): void {
  const edits = [BREAKS[broken]].flat();
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const here = edits.filter(({ file }) => url.endsWith(file));
      if (here.length === 0) return loaded;
      let source = String(loaded.source);
      for (const { file, from, to } of here) {
        if (!source.includes(from)) throw new Error(`the break \`${broken}\` finds no place in ${file}`);
        source = source.replace(from, () => to);
      }
      return { ...loaded, source };
    },
  });
}
