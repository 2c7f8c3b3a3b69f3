/**
 * Handles authored files in a shell: consent given beforehand (`--yes`), and a restart of the local server after a save.
 *
 * S-12 `--yes` is one answer of the person's to the first question about `save_artifact` in a conversation: a yes to that save. Saves are never granted: once it
 *      was given, or refused, the next question is the person's.
 * S-14 a saved file takes effect when the turn has ended and nothing else runs: the shell's local server is restarted with it, and every conversation goes on.
 */

import type { Principal, SessionId } from "@orgate/core/vocab";
import type { CallItem } from "@orgate/protocol/view";
import type { Shell } from "./contract.ts";
import { visible } from "./terminal/visible.ts";

/** S-12 conversations in which `--yes` was used up: one answer each, whichever server is in front, so that what was revoked stays so. */
export type UsedConsents = Set<SessionId>;
type Desk = Pick<Shell, "conversations" | "openApprovals" | "answer" | "say" | "switchServer" | "connection">;
export type AutoApprove = Readonly<{
  look(): void;
  /** An answer, or another server, is on its way: the next message may be about its result. */
  isSettling(): boolean;
}>;

const SAVES = "save_artifact";
/** The agent that authors files of a project. */
export const AUTHOR = "shell";
/** The policy of `policies/shell/shell.cedar` that asks about every save. */
const PLAIN_SAVE = "shell/shell/save";
/** S-20 how a project gets one. */
export const NO_AUTHOR =
  "this project has no agent of the shell's own: `/init shell` writes agents/shell.symbi and policies/shell/, yours to edit";

/** Covers only plain saves in one's own conversations: requests of other sessions are shown here too. `opener`: null if unknown. */
export const coversConsent = (
  {
    agent,
    item,
  }: Readonly<{ agent: string; item: Readonly<{ tool: string; asks: readonly Readonly<{ policy: Readonly<{ id: string }> }>[] }> }>,
  opener: Principal | null,
  me: string | null,
): boolean =>
  item.tool === SAVES &&
  agent === AUTHOR &&
  opener !== null &&
  opener.kind === "user" &&
  opener.id === me &&
  item.asks.every(({ policy }) => policy.id === PLAIN_SAVE); // what another policy asks about too is the person's, each time

/** `consented`: null without `--yes`. `me`: for whom it was said. */
export function openAutoApprove(
  desk: () => Desk | null,
  { consented, me, changed }: Readonly<{ consented: UsedConsents | null; me(): string | null; changed(): void }>,
): AutoApprove {
  let taken: number | null = null;
  let isMoving = false;
  /** Answered from here, and not yet gone. */
  const answered = new Set<string>();

  function consent(shell: Desk, given: UsedConsents): void {
    for (const asked of shell.openApprovals()) {
      const { session, item } = asked;
      if (given.has(session) || !coversConsent(asked, shell.conversations.find(session)?.view.principal ?? null, me())) continue;
      given.add(session);
      answered.add(item.approval);
      void shell.answer({ session, approval: item.approval, digest: item.digest }, { kind: "approve" }).then((isTaken) => {
        if (!isTaken) {
          answered.delete(item.approval); // then the operator answers it
          changed();
        } else shell.say("--yes: this save is approved; the next one in this conversation is asked about");
      });
    }
  }

  /** How often something was saved in the conversations of this shell, as far as it follows them. */
  const saved = ({ conversations: talks }: Desk): number =>
    talks
      .all()
      .reduce(
        (sum, { view }) => sum + (view.agent === AUTHOR ? view.items.filter((item) => item.kind === "call" && isSaved(item)).length : 0),
        0,
      );

  function renew(shell: Desk): void {
    const talks = shell.conversations.all();
    if (isMoving || !talks.every((talk) => talk.isCaughtUp())) return;
    const now = saved(shell);
    taken ??= now; // what was saved before this server began is in it
    if (now === taken || talks.some(({ view }) => view.state === "running" || view.state === "waiting")) return;
    taken = now;
    if (!shell.connection.isLocal) {
      shell.say("the server takes up what was saved when it is started again (`orgate dev` does so by itself)");
      return;
    }
    isMoving = true;
    void shell.switchServer(null).finally(() => {
      isMoving = false;
      changed();
    });
  }

  return {
    look() {
      const shell = desk();
      if (shell === null) return;
      if (consented !== null) consent(shell, consented);
      renew(shell);
    },
    isSettling: () => isMoving || (desk()?.openApprovals() ?? []).some(({ item }) => answered.has(item.approval)),
  };
}

const isSaved = ({ tool, status }: CallItem): boolean => tool === SAVES && status === "done";

/** Its conversations, with what of them stands in the scrollback, in front of another server of the same project. */
export function carryOver(from: Pick<Shell, "conversations" | "addressee">, to: Pick<Shell, "continueIn" | "address" | "agents">): void {
  for (const talk of from.conversations.all()) to.continueIn(talk.session, talk.view.agent).settle(talk.settled());
  const addressee = from.addressee();
  if (addressee !== null && to.agents().some(({ name }) => name === addressee)) to.address(addressee);
}

/** Said after a move of that kind. */
export const describeReload = (before: readonly string[], after: readonly string[]): string => {
  const more = after.filter((name) => !before.includes(name));
  return more.length === 0
    ? "what was saved is in force"
    : `what was saved is in force: ${more.map((name) => `\`${visible(name)}\``).join(", ")} ${more.length === 1 ? "is" : "are"} there now`;
};
