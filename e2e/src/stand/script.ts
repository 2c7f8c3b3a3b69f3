/** The run that is killed: three iterations with two parallel calls each, then an answer. Every call has a distinct effect (`n`). */
export const TOOLS = { read: "look", idempotent: "put", reconcile: "send", once: "fire" } as const;
export type ToolName = (typeof TOOLS)[keyof typeof TOOLS];

type Step = Readonly<{ kind: "calls"; calls: readonly Readonly<{ tool: ToolName; n: number }>[] } | { kind: "answer"; text: string }>;

/** `fire` is in two iterations: if the first outcome is lost, the second call looks alike, and a person is asked. */
export const SCRIPT: readonly Step[] = [
  {
    kind: "calls",
    calls: [
      { tool: "fire", n: 1 },
      { tool: "put", n: 2 },
    ],
  },
  {
    kind: "calls",
    calls: [
      { tool: "look", n: 3 },
      { tool: "send", n: 4 },
    ],
  },
  {
    kind: "calls",
    calls: [
      { tool: "send", n: 5 },
      { tool: "fire", n: 6 },
    ],
  },
  { kind: "answer", text: "done" },
];
export const AGENT = "victim";
export const PERSON = "ana";
export const resultOf = (tool: string, n: number): string => `${tool} ${n} was done`;

/** Rows of a table that let people do for themselves what these suites are not about. */
export const PEOPLE_MAY = (["run", "open", "say", "steer", "cancel", "close"] as const).map(
  (action) => ({ id: `people-${action}`, action, verdict: "allow" }) as const,
);
