// Renders the results of the suite as a page, and compares them with what we claim.
export type Result = Readonly<{
  scenario: string;
  /** Of the protocol, at which it was run; `extension`. */
  revision: string;
  /** Whether the suite requires it of a client that claims the revision. */
  required: boolean;
  passed: number;
  failed: number;
  overall: "passed" | "failed";
}>;

/** The newest revisions differ on the wire: a run at one says nothing of the other. Older ones are run where neither knows the scenario. */
const BOTH: readonly string[] = ["2025-11-25", "2026-07-28"];
export const revisionsOf = (listed: readonly string[]): readonly string[] => {
  const newest = listed.filter((one) => BOTH.includes(one));
  return newest.length > 0 ? newest : listed.slice(-1);
};

/** Scenarios that are not supported, with the reason. A listed scenario that passes is as wrong as an unlisted one that fails. */
export const NOT_DONE: Readonly<Record<string, string>> = {
  "elicitation-sep1034-client-defaults":
    "The server asks the person something in the middle of a call and wants it accepted with defaults. No server of Orgate's asks anybody anything (T-35): a policy asks, before the call.",
  "auth/enterprise-managed-authorization":
    "An extension: the token of a company's sign-in is exchanged for one of the server's. Orgate has no such sign-in to take a token from; `headers` takes one that something else fetched.",
  "auth/dpop":
    "An extension: tokens are bound to a key of the client's. The official client does not do it; a server that wants it refuses ours with 401.",
  "auth/dpop-nonce": "As `auth/dpop`.",
  "auth/wif-jwt-bearer":
    "An extension: the token of a workload's platform is exchanged for one of the server's. `headers` takes one that something else fetched.",
  "sep-2640-client-no-prefetch":
    "An extension: skills that a server offers. Orgate's come from the project and the person's own folder; nothing was checked.",
  "sep-2640-client-verify-digest": "As `sep-2640-client-no-prefetch`.",
  "sep-2640-client-verify-size": "As `sep-2640-client-no-prefetch`.",
  "sep-2640-client-verify-frontmatter": "As `sep-2640-client-no-prefetch`.",
};

/** One line for each result that differs from our claims. */
export function surprises(results: readonly Result[]): readonly string[] {
  const seen = new Set(results.map((r) => r.scenario));
  return [
    ...results.flatMap(({ scenario, overall }) => {
      const isExpected = scenario in NOT_DONE;
      if (overall === "failed" && !isExpected) return [`${scenario} fails, and nothing says why`];
      return overall === "passed" && isExpected ? [`${scenario} passes, and is said not to be done`] : [];
    }),
    ...Object.keys(NOT_DONE).flatMap((scenario) =>
      seen.has(scenario) ? [] : [`${scenario} is said not to be done, and is no scenario of the suite`],
    ),
  ];
}

export function pageOf(results: readonly Result[], suite: string, day: string): string {
  const passed = results.filter((r) => r.overall === "passed");
  const checks = results.reduce((sum, r) => sum + r.passed, 0);
  const rows = results.map(
    ({ scenario, revision, required, passed: ok, failed, overall }) =>
      `| ${scenario} | ${revision} | ${required ? "yes" : ""} | ${overall === "passed" ? "passes" : "**not done**"} | ${ok} | ${failed} |`,
  );
  const missing = new Set(results.flatMap(({ scenario, overall }) => (overall === "failed" ? [scenario] : [])));
  const reasons = [...missing].map((scenario) => `- **${scenario}**: ${NOT_DONE[scenario] ?? "unexplained"}`);
  const required = BOTH.map((revision) => {
    const of = results.filter((r) => r.required && r.revision === revision);
    return `${of.filter((r) => r.overall === "passed").length} of ${of.length} of those that ${revision} requires`;
  });
  return `# MCP conformance

The client part of \`${suite}\`, run on ${day} by \`npm run conformance:mcp\`, which writes this page and fails when anything differs from it. The client under test is an agent of the real runtime that calls every tool of the test server, through policies, permits and journal; a person's sign-in is played by a program that follows the test server's page.

${passed.length} of ${results.length} runs pass, with ${checks} checks: ${required.join(", ")}. A scenario that two revisions have is run at both.

| scenario | revision | required | | checks passed | failed |
|---|---|---|---|---|---|
${rows.join("\n")}

## Not done, and why

${reasons.join("\n")}
`;
}
