// What the suite found, as a page, and whether it is what we say of ourselves.
export type Result = Readonly<{ scenario: string; versions: string; passed: number; failed: number; overall: "passed" | "failed" }>;

/** What is not done, and why. A scenario that is here and passes is as wrong as one that fails and is not. */
export const NOT_DONE: Readonly<Record<string, string>> = {
  "elicitation-sep1034-client-defaults":
    "The server asks the person something in the middle of a call and wants it accepted with defaults. No server of Orgate's asks anybody anything (T138): a policy asks, before the call.",
  "auth/2025-03-26-oauth-metadata-backcompat":
    "The authorization server names another issuer than the one it was found under. Accepting that would let one server pass for another (RFC 8414, section 3.3); the older revision of the protocol did not look.",
  "auth/cross-app-access-complete-flow":
    "An extension: the token of a company's sign-in is exchanged for one of the server's. Orgate has no such sign-in to take a token from; `headers` takes one that something else fetched.",
};

/** One line each; none when everything is as said. */
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
    ({ scenario, versions, passed: ok, failed, overall }) =>
      `| ${scenario} | ${versions} | ${overall === "passed" ? "passes" : "**not done**"} | ${ok} | ${failed} |`,
  );
  const reasons = results.flatMap(({ scenario, overall }) =>
    overall === "failed" ? [`- **${scenario}**: ${NOT_DONE[scenario] ?? "unexplained"}`] : [],
  );
  return `# MCP conformance

The client part of \`${suite}\`, run on ${day} by \`npm run conformance:mcp\`, which writes this page and fails when anything differs from it. The client under test is an agent of the real runtime that calls every tool of the test server, through policies, permits and journal; a person's sign-in is played by a program that follows the test server's page.

${passed.length} of ${results.length} scenarios pass, with ${checks} checks.

| scenario | of the protocol | | checks passed | failed |
|---|---|---|---|---|
${rows.join("\n")}

## Not done, and why

${reasons.join("\n")}
`;
}
