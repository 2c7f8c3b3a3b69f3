/** Commands about approval requests, unknown outcomes and grants. */

import { type Answer, approvalId } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { quorumText, timeLeft, toApprovalRow } from "@orgate/protocol/view";
import type { Shell } from "../contract.ts";
import { ageText } from "../terminal/table.ts";
import { visible } from "../terminal/visible.ts";
import { fitTable } from "../ui/tables.ts";
import type { ShellCommand } from "./command.ts";
import type { Renderers } from "./operation-command.ts";
import { nameUnknownCall } from "./slash-arguments.ts";

/** Calls with an unknown outcome wait for a person as well. */
async function unknowns({ unwrap, connection, ui }: Shell): Promise<void> {
  const found = await unwrap(connection.client.call("unknowns", { query: { limit: 100 } }));
  if (found === null || found.items.length === 0) return;
  const now = Date.now();
  const rows = found.items.map((one) => [nameUnknownCall(one), one.tool, one.agent, one.cause, `${ageText(now - one.at)} ago`]);
  ui.print([
    ...fitTable(["nobody knows", "tool", "agent", "why", "since"], rows, ui.look()),
    ui.look().paint("dim", "`/resolve CALL happened|did-not-happen|abandon|reconcile [NOTE]`"),
  ]);
}
async function list(_: string, shell: Shell): Promise<void> {
  await questions(shell);
  await unknowns(shell);
}
async function questions(shell: Shell): Promise<void> {
  const { unwrap, connection, ui } = shell;
  const found = await unwrap(connection.client.call("approvals", { query: { limit: 100 } }));
  if (found === null) return;
  const now = Date.now();
  const rows = found.items
    .map(toApprovalRow)
    .map((row) => [
      row.approval,
      row.agent,
      `${row.tool}${row.touches === null ? "" : ` ${row.touches}`}`,
      row.asks.map(({ question }) => question).join(" / "),
      row.quorum.needed <= 1 ? "-" : `${row.quorum.given.length} of ${row.quorum.needed}`,
      timeLeft(row.expiresAt, now) ?? "-",
      `${ageText(now - row.askedAt)} ago`,
    ]);
  if (rows.length === 0) return ui.print(["nothing waits for an answer"]);
  await shell.reviewApprovals();
  ui.print([
    ...fitTable(["id", "agent", "wants", "question", "yes", "expires", "asked"], rows, ui.look()),
    ui.look().paint("dim", "`/why ID` shows all of one; `/approve ID`, `/deny ID REASON`"),
  ]);
}

/** Reads the request first, so that the answer is bound to its current digest. */
async function answered(id: string, answer: Answer, shell: Shell): Promise<void> {
  if (id === "") return shell.say("which one? `/approvals` lists them");
  const found = await shell.unwrap(shell.connection.client.call("approval", { params: { approval: approvalId(id) } }));
  if (found === null) return;
  await shell.answer({ session: found.session, approval: found.approval, digest: found.digest }, answer);
}

/** Prints everything an approver needs to see. */
export async function explainApproval(id: string, shell: Shell): Promise<void> {
  const found = await shell.unwrap(shell.connection.client.call("approval", { params: { approval: approvalId(id) } }));
  if (found !== null) shell.ui.print(describeApproval(found, shell));
}

function describeApproval(found: OperationOutput<"approval">, shell: Shell): readonly string[] {
  const { paint } = shell.ui.look();
  const row = toApprovalRow(found);
  const args = found.args === null ? [] : JSON.stringify(found.args, null, 2).split("\n");
  return [
    "",
    `${paint("warn", "?")} ${row.agent} wants ${row.tool}${row.touches === null ? "" : ` on ${row.touches}`}`,
    ...row.asks.flatMap(({ question, policy }) => [
      `  ${question}`,
      paint("dim", `  because of ${policy.id}${policy.file === null ? "" : ` in ${policy.file}`}`),
    ]),
    ...args.map((line) => `  ${visible(line)}`),
    ...(found.text === null
      ? []
      : visible(found.text)
          .split("\n")
          .map((line) => `  ${line}`)),
    paint(
      "dim",
      `  for ${visible(found.requester.id)}${found.subject === null ? "" : `, serving ${visible(found.subject)}`}${found.lineage.length === 0 ? "" : `, by way of ${found.lineage.map(visible).join(" → ")}`} · may be answered by ${row.approvers}`,
    ),
    ...found.resolved.map((since) => paint("warn", `  ${visible(since)}`)),
    ...[quorumText(row.quorum)].flatMap((voted) => (voted === null ? [] : [paint("warn", `  ${voted}`)])),
    paint(
      "dim",
      `  ${found.halted === null ? "" : `${visible(found.halted)} · `}${found.widest === null ? "no grant may be given" : `a grant may cover the ${found.widest.scope}: ${visible(found.grants.at(-1)?.says ?? "")}`}${found.expiresAt === null ? "" : ` · ${timeLeft(found.expiresAt, Date.now()) ?? ""}`}`,
    ),
  ];
}

export const APPROVAL_RENDERERS: Renderers = {
  approval: describeApproval,
  resolve: (_, __, { fields, named }) => [`${visible(named ?? "the call")} is resolved: ${visible(String(fields["as"]))}`],
  grants: ({ items }) =>
    items.length === 0
      ? ["no answer is remembered"]
      : items.flatMap((g) => [`${g.grant} · ${visible(g.agent)} · given by ${visible(g.by.id)}`, `  covers ${visible(g.says)}`]),
  revoke: ({ grant, agent }) => [`revoked ${grant}: ${visible(agent)} asks again`],
};

const refusal = (kind: "deny" | "withdraw", summary: string): ShellCommand => ({
  name: kind,
  byHand: "it reads the request first, and answers what was read",
  usage: "ID REASON",
  takes: ["approval", "anything"],
  summary,
  more: [`As \`orgate approvals ${kind}\`.`],
  async run(rest, shell) {
    const [, id = "", reason = ""] = /^(\S*)\s*([\s\S]*)$/.exec(rest) ?? [];
    if (id !== "" && reason.trim() === "")
      return shell.say(`say why: \`/${kind} ${id} REASON\`; the agent reads it, and the journal keeps it`);
    await answered(id, { kind, reason }, shell);
  },
});

export const APPROVAL_COMMANDS: readonly ShellCommand[] = [
  {
    name: "approvals",
    byHand: "it calls two operations, and asks for answers with keys",
    usage: "",
    summary: "list what waits for a person, and answer it",
    more: ["As `orgate approvals list`. The panel then shows one request after the other, of any session."],
    run: list,
  },
  {
    name: "approve",
    byHand: "it reads the request first, and answers what was read",
    usage: "ID",
    takes: ["approval", "anything"],
    summary: "approve an action, once",
    more: ["Bound to the request as it is at this moment. As `orgate approvals approve`."],
    run: (rest, shell) => answered(rest, { kind: "approve" }, shell),
  },
  refusal("deny", "deny an action; the agent reads why"),
  refusal("withdraw", "withdraw a request that was made on your behalf; the agent reads why"),
];
