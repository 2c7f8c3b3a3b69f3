/**
 * Open questions, and answers to them.
 *
 * Q21 an answer is bound to the question's id and to the digest of the action that was shown; a policy decides who may give it, here
 *     before it is sent and again by whoever holds the session.
 */
import { canonical, FaultError, isFault, readState, type State, type Wish } from "@orgate/core";
import { EXIT, type Given, type Run } from "../cli/command.ts";
import { type Cell, table } from "../cli/table.ts";
import { resourceText } from "../cli/timeline.ts";
import { shortened, visible } from "../cli/visible.ts";
import type { Look } from "../compose.ts";
import { deskOf, looking, personOf } from "./project.ts";
import { sendWish } from "./wishes.ts";

type Open = Readonly<{
  approval: string;
  session: State["session"];
  agent: string;
  tool: string;
  args: string;
  /** What it is done to, as a policy would write it. */
  touches: string;
  digest: string;
  approvers: readonly (readonly string[])[];
  questions: readonly string[];
  policies: readonly string[];
  quorum: number;
  requester: string;
}>;

async function openQuestions(look: Look): Promise<readonly Open[]> {
  const found: Open[] = [];
  for (let before: { openedAt: State["at"]; session: State["session"] } | null = null; ; ) {
    const page: Awaited<ReturnType<Look["journal"]["sessions"]>> = await look.journal.sessions({
      state: "waiting",
      agent: null,
      before,
      most: 200,
    });
    for (const { session } of page) found.push(...questionsOf(await readState({ journal: look.journal }, session)));
    const last = page.at(-1);
    if (last === undefined || page.length < 200) return found;
    before = last;
  }
}

function questionsOf(s: State): readonly Open[] {
  return [...(s.turn?.questions.values() ?? [])].flatMap((q) => {
    if (q.answer !== null) return [];
    const call = s.turn?.calling.find((c) => String(c.proposed.id) === q.action);
    const tool = call?.proposed.tool ?? q.action.split(":")[0] ?? "";
    return [
      {
        approval: q.approval,
        session: s.session,
        agent: s.agent.name,
        tool,
        args:
          call === undefined
            ? ""
            : call.proposed.args.kind === "json"
              ? canonical(call.edited ?? call.proposed.args.value)
              : call.proposed.text,
        touches: resourceText(q.about),
        digest: q.digest,
        approvers: q.asks.map((a) => a.terms.approvers),
        questions: q.asks.map((a) => a.question),
        policies: q.asks.map((a) => a.policy),
        quorum: Math.max(1, ...q.asks.map((a) => a.terms.quorum)),
        requester: (s.turn?.by ?? s.principal).id,
      },
    ];
  });
}

export const list: Run = async (given, screen) => {
  const open = await looking(given, openQuestions).catch(noneYet);
  if (given.json) screen.line(JSON.stringify(open));
  else if (open.length === 0) screen.line("nothing waits for an answer");
  else {
    const rows = open.map((o): readonly Cell[] => [
      o.approval,
      o.agent,
      shortened(visible(`${o.tool} ${o.args}`), 60),
      o.questions.map(visible).join(" / "),
      o.approvers.flat().join(", ") || "who may approve",
      o.digest.slice(0, 12),
      o.session,
    ]);
    for (const line of table(["id", "agent", "wants", "question", "of", "digest", "session"], rows, screen.paint)) screen.line(line);
  }
  return EXIT.success;
};

function noneYet(error: unknown): readonly Open[] {
  if (isFault(error, "journal-unreadable")) return [];
  throw error;
}

export const approve: Run = (given, screen) => answer(given, screen, { kind: "approve" });
export const deny: Run = (given, screen) => {
  const reason = given.text("reason");
  if (reason === null || reason.trim() === "") throw usage("--reason is missing", "say why: the agent is told, and the journal keeps it");
  return answer(given, screen, { kind: "deny", reason });
};

type Answer = Extract<Wish, { kind: "answer" }>["answer"];

function answer(given: Given, screen: Parameters<Run>[1], said: Answer): Promise<number> {
  return looking(given, async (look, config) => {
    const state = await stateWith(look, given.args[0] ?? "");
    const wanted = given.text("digest");
    if (wanted !== null && (wanted.length < 8 || !state.open.digest.startsWith(wanted)))
      throw usage(
        `question \`${state.open.approval}\` is about ${state.open.digest}, not ${wanted}`,
        "look again: `orgate approvals list`",
      );
    const { open } = state;
    const person = personOf(given, screen);
    const { gate } = await deskOf(config);
    const { approval, agent, tool, requester } = open;
    const { verdict } = gate.decideFor(person.name, { kind: "approve", approval, agent, tool, requester });
    if (verdict.kind !== "allow") {
      const reason = verdict.kind === "deny" ? verdict.reason : `the policies answer \`${verdict.kind}\`, which is not allow`;
      throw new FaultError({ kind: "not-permitted", user: person.name, what: "answer it", reason });
    }
    if (!given.json) {
      screen.line(`${said.kind === "approve" ? "approving" : "denying"} ${screen.paint("strong", visible(tool))} ${visible(open.args)}`);
      const about = [
        `for ${agent}`,
        `touches ${open.touches}`,
        `asked by ${open.policies.join(", ")}`,
        `digest ${open.digest.slice(0, 12)}`,
      ];
      screen.line(screen.paint("dim", about.join(" · ")));
    }
    return sendWish(
      given,
      screen,
      { look, config, session: open.session, agent, person },
      {
        kind: "answer",
        approval: state.question.approval,
        digest: state.question.digest,
        answer: said,
      },
    );
  });
}

const SHORTEST = 4;

/** The question itself, from the session that waits for it. */
async function stateWith(look: Look, text: string) {
  const all = (await openQuestions(look)).filter(
    (o) => o.approval === text || (text.length >= SHORTEST && (o.approval.startsWith(text) || o.approval.endsWith(text))),
  );
  const [open, ...others] = all;
  if (open === undefined) throw usage(`there is no open question \`${text}\``, "`orgate approvals list` shows them");
  if (others.length > 0)
    throw usage(`\`${text}\` means ${all.length} questions`, `write more of it: ${all.map((o) => o.approval).join(", ")}`);
  const { turn } = await readState({ journal: look.journal }, open.session);
  const question = [...(turn?.questions.values() ?? [])].find((q) => q.approval === open.approval && q.digest === open.digest);
  if (question === undefined)
    throw usage(`question \`${open.approval}\` was answered meanwhile`, "`orgate approvals list` shows what is open");
  return { open, question };
}

const usage = (detail: string, hint: string): FaultError => new FaultError({ kind: "usage", detail, hint });
