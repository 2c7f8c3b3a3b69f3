import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** What each example prints last: they are run as a user would run them. */
const LAST_LINES: Readonly<Record<string, RegExp>> = {
  "01-minimal.ts": /^Hello, Ada! completed true$/,
  "02-tools.ts": /^order_stock deny$/,
  "03-events.ts": /^the previews were the answer$/,
  "04-cancel.ts": /^cancelled lunch The turn was cancelled\.$/,
  "05-resume-after-kill.ts": /^completed mails sent: 1 unknown outcomes: 1 hold-lost$/,
  "06-inspect.ts": /^the state is the fold of all entries$/,
  "07-testing.ts": /^completed processes: 2 paid: 1 unknown: 1$/,
  "08-policies.ts": /^waiting May it pay this back\? Order o-1$/,
  "09-approvals.ts": /^completed mails sent: 2 grants used: 1$/,
  "10-budgets.ts": /^out-of-money 0\.75 a call of search may cost 40 cents, and 24 of 100 are left$/,
  "11-recovery.ts": /^tool:forecast open \| calls: 6 \| completed$/,
  "12-middleware.ts": /^completed \| \[denied by middleware\] lookup: manners: name one customer \| looked up: 1$/,
  "13-sessions.ts": /^session.opened session.closed no gaps$/,
  "14-delegation.ts": /^completed On Mondays\. labels: untrusted$/,
  "16-models.ts": /^I heard: Ulm: sunny \| calls: 1 tokens: 50$/,
  "17-files.ts": /^files of the first and the second turn: 3 1$/,
  "18-structured-output.ts": /^no$/,
  "19-prompted-calls.ts": /^There are 12 bolts\. \| calls: 1 \| decided: stock$/,
  "21-facts-and-labels.ts": /^sent: ben@example\.org: Friday is fine\. \| known: ben@example\.org$/,
  "22-sandbox.ts": /^deny$/,
  "20-knowledge.ts": /^\[manual: ladder\] Ladders are on the second floor\. \| cost: 0\.00072 cached: 900$/,
  "23-mcp.ts": /no longer what was accepted: `orgate mcp diff files` shows it \(nothing was sent\) \| denied: `write_file`/,
  "28-memory.ts": /^ladders are kept on the second floor \| fact 0\.8$/,
  "27-server.ts": /^it is down, and nothing is left half done$/,
  "26-ui-stream.ts": /^You asked: is it open\? \| start finish true$/,
  "24-manifests.ts": /^waiting: notify is run only when a person says so: run it\?$/,
  "25-access.ts": /^then: this access is revoked$/,
  "29-schedules.ts": /^nightly$/,
  "30-symbi.ts": /^Paid\.$/,
  "31-orchestrate.ts": /^(researcher|writer) was first\.$/,
  "32-testing-policies.ts": /^paid: ann \| allow world\/small \| deny {2}\| deny world\/no-notes$/,
  "33-folder-files.ts": /^\.\.\/package\.json was refused$/,
  "42-records.ts": /^deny pay_back \{"amount":8000,"subject":"returned goods","to":"DE-1"\}$/,
  "41-project-model.ts": /^DINNER! completed$/,
  "40-skill-prompter.ts": /^Before you answer, call load_skill for: refunds\.$/,
  "39-formats.ts": /^error: agents\/host\.md:1:1: it has no heading with the agent's name$/,
  "38-coordinator.ts": /^and not of the auditor$/,
  "37-context-plan.ts": /^kept in the journal: 8 messages$/,
  "36-manifest-ports.ts": /^completed done$/,
  "35-ports.ts": /^tool:flaky open \| calls: 1 \| turns traced: 2$/,
  "34-late-gate.ts": /^sent: ben@example\.org$/,
  "15-skills.ts": /^Paid back\. \| load_skill allow \| refund allow \| paid: 1$/,
};

const files = readdirSync(import.meta.dirname).filter((name) => /^\d\d-.*\.ts$/.test(name));

/** What an example needs beyond npm. */
const NEEDS: Readonly<Record<string, string>> = { "24-manifests.ts": "sandbox" };

for (const name of files)
  test(`A-17 example ${name} runs and ends as it says`, { tags: [NEEDS[name] ?? []].flat() }, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, name)], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    expect(stdout.trim().split("\n").at(-1)).toMatch(LAST_LINES[name] ?? /no expectation for this example/);
  });
