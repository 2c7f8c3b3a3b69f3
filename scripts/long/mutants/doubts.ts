/** Lies about what nobody knows: records that a call may have made untrue, and whom an approval or a grant was for. */
import { CORE, inGate, inLoop, type Mutant, ORGATE } from "./mutant.ts";

const DOUBTED = [`${CORE}/loop/calls/doubted-records.test.ts`, `${ORGATE}/runtime/doubted-records.test.ts`];
const SUBJECTS = [`${CORE}/loop/people/grant-subjects.test.ts`];

export const DOUBTS: readonly Mutant[] = [
  // ── grants and approvals, for whom ──
  {
    lie: "a grant is for whomever the session serves",
    file: inGate("approvals.ts"),
    from: 'Pick<GrantQuery, "subject">): boolean => subject === q.subject;',
    to: 'Pick<GrantQuery, "subject">): boolean => subject === q.subject || true;',
    tests: SUBJECTS,
  },
  {
    lie: "a grant of nobody is for whomever the session serves",
    file: inGate("approvals.ts"),
    from: 'Pick<GrantQuery, "subject">): boolean => subject === q.subject;',
    to: 'Pick<GrantQuery, "subject">): boolean => subject === null || subject === q.subject;',
    tests: SUBJECTS,
  },
  {
    lie: "a grant is for whom the session serves when it is given, whoever was shown",
    file: inLoop("people/evolve.ts"),
    from: "subject: q.subject,",
    to: "subject: s.subject?.id ?? null,",
    tests: SUBJECTS,
  },
  {
    lie: "an approval is for whomever the session serves",
    file: inLoop("judge.ts"),
    from: "answered.subject === (s.subject?.id ?? null)",
    to: "true",
    tests: SUBJECTS,
  },
  {
    lie: "a request says that the session serves nobody",
    file: inLoop("perform.ts"),
    from: "subject: s.subject?.id ?? null,",
    to: "subject: null,",
    tests: SUBJECTS,
  },
  // ── records ──
  {
    lie: "a call of which nobody knows what it did leaves the record of what it names",
    file: inLoop("calls/start-call.ts"),
    from: 'if (kind === "unknown") return doubtEvents(c, id, action, "any");',
    to: "",
    tests: DOUBTED,
  },
  {
    lie: "a call of which nobody knows what it did, given up, leaves the record of what it names",
    file: inLoop("perform.ts"),
    from: 'if (outcome.kind === "unknown") for (const event of doubtEvents',
    to: 'if (outcome.kind === "done") for (const event of doubtEvents',
    tests: DOUBTED,
  },
  {
    lie: "a failed call of which nobody knows what it did leaves the record of what it names",
    file: inLoop("calls/start-call.ts"),
    from: 'return kind === "failed" && repeat === "once"',
    to: "return false && repeat === null",
    tests: DOUBTED,
  },
  {
    lie: "a call of which nobody knows which thing it changed leaves all records of the type",
    file: inLoop("calls/make-records.ts"),
    from: 'return read === null && how === "named" ? [] : [[type, read]];',
    to: "return read === null ? [] : [[type, read]];",
    tests: DOUBTED,
  },
  {
    lie: "a record ends by its exact spelling only, though nobody knows what was done",
    file: inLoop("calls/evolve-records.ts"),
    from: "named.has(name.toLowerCase())",
    to: "named.has(name)",
    tests: DOUBTED,
  },
  {
    lie: "the project's records of a type are believed though nobody knows which of them was changed",
    file: inLoop("calls/record-facts.ts"),
    from: "theirs.at <= (s.doubted.get(type) ?? -1)",
    to: "theirs.at < 0",
    tests: DOUBTED,
  },
  {
    lie: "a record of the project outlives a call that names it and of which nobody knows what it did",
    file: inLoop("calls/make-records.ts"),
    from: 'set: isShared ? "project" : "session"',
    to: 'set: isShared ? "session" : "session"',
    tests: DOUBTED,
  },
  {
    lie: "what was read while nobody knew outlives a late outcome",
    file: inLoop("calls/make-records.ts"),
    from: "return [...rest, ...said];",
    to: "return rest.length === -1 ? rest : said;",
    tests: DOUBTED,
  },
  {
    lie: "what was read while nobody knew outlives a person's word that it happened",
    file: inLoop("people/intake.ts"),
    from: 'event.as === "happened" ?',
    to: 'event.as === "abandon" ?',
    tests: DOUBTED,
  },
  {
    lie: "the subject outlives a call of which nobody knows what it did to them",
    file: inLoop("calls/evolve-records.ts"),
    from: 'skipped.some(({ key, why }) => key !== null || why !== "missing")',
    to: 'skipped.some(({ key, why }) => why !== "unknown" && (key !== null || why !== "missing"))',
    tests: DOUBTED,
  },
  {
    lie: "a table that is made again brings back a record that an erased entry had ended",
    file: `${ORGATE}/store/sqlite/trusted-values.ts`,
    from: 'else if (kind === "known.recorded") db.exec(FORGET_RECORDS);',
    to: "",
    tests: DOUBTED,
  },
];
