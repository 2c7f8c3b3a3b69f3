/** Wires the parts of one drive: commits, effects in flight, intake, announcer, and the context that effects see. */
import { createToolDigests } from "../gate/request.ts";
import type { JournalEvent, Limits, Millis } from "../vocab/index.ts";
import { createChooser } from "./calls/recovery.ts";
import { SessionCommits } from "./commit.ts";
import type { EffectContext } from "./effect-context.ts";
import { createAnnouncer, EffectsInFlight } from "./effects.ts";
import { createActionDigests, createJudge } from "./judge.ts";
import { LateAnswers } from "./late-answers.ts";
import { createStops } from "./limits/abort-scopes.ts";
import { steadyTime } from "./limits/time.ts";
import { Waits } from "./limits/waits.ts";
import type { Held } from "./open.ts";
import { Intake } from "./people/intake.ts";
import type { Performing } from "./perform.ts";
import type { Ports } from "./ports.ts";

/** `cancel` ends the turn. `leave` only stops driving: nothing more is begun, effects in flight settle, and the turn stays open for the next driver (W-29). */
export type Driving = Readonly<{
  limits: Limits;
  cancel: AbortSignal;
  leave?: AbortSignal | null;
  /** A longer wait for a model or a retry is left to a later driver: the turn rests, held by nobody. No limit unless given. */
  maxRestMs?: number;
}>;

export type DriverParts = Performing &
  Readonly<{
    p: Ports;
    held: Held;
    time: () => Millis;
    effects: EffectsInFlight;
    late: LateAnswers;
    waits: Waits;
    intake: Intake;
    leave: AbortSignal | null;
    maxRestMs: number;
  }>;

export function createParts(p: Ports, held: Held, driving: Driving): DriverParts {
  const { limits, cancel, leave = null, maxRestMs = Number.POSITIVE_INFINITY } = driving;
  const { state: s, hold, left } = held;
  const [waits, stop, time] = [new Waits(p.clock), createStops(), steadyTime(p.clock, s)];
  const effects = new EffectsInFlight(() => waits.wake());
  const [toolDigest, digestAction, choose] = [createToolDigests(p.hash), createActionDigests(s, p.hash), createChooser(p, s)];
  const late = new LateAnswers({ deadline: waits.deadlines.set, wake: () => effects.settle(() => []) }); // a result without events: the answer may come while a batch is written
  const decide = createJudge(p, { late, toolDigest, digestAction, now: time });
  const commits = new SessionCommits({ p, held, time, digestAction, onRecord });
  const c: EffectContext = {
    p,
    s,
    hold,
    toolDigest,
    time,
    factsFor: decide.factsFor,
    redeem: commits.redeem,
    stopOf: stop.of,
    isTurnStopped: stop.isTurnStopped,
    deadline: waits.deadlines.set,
    record: (event) => commits.record(event),
    permitFor: (action) => commits.permitFor(action),
    begin: (one) => commits.begin(one),
    tell: (live) => commits.tell(live),
    launch: (name, effect) => effects.launch(name, effect),
    isInFlight: (name) => effects.has(name),
    settle: (result) => effects.settle(result),
    look: () => waits.look(),
    chooseFor: (t, call) => choose(t, call, time()),
    outliving(over) {
      left.running += 1;
      void over.finally(() => {
        left.running -= 1;
      });
    },
  };
  const intake = new Intake({ ...c, limits, cancel, commits });

  /** Ends what belongs to a turn in this process, before its end is folded. */
  function onRecord(event: JournalEvent): void {
    if (event.kind === "turn.ended") {
      stop.renew();
      late.forget();
      waits.turnEnded();
      intake.turnEnded();
    }
    if (event.kind === "turn.cancel-asked" && event.all) intake.cancelledAll();
  }
  return {
    p,
    held,
    c,
    time,
    decide,
    commits,
    effects,
    waits,
    intake,
    announcer: createAnnouncer(c),
    late,
    stop,
    limits,
    cancel,
    leave,
    maxRestMs,
  };
}
