/**
 * The fleet, live: a fold of everything that happens, drawn below what was said until it is left.
 * S-20 `/monitor` follows what happens as the console does, and leaves nothing behind; where nothing can be drawn it is a table, once.
 */
import { findAgentHalt, foldHalts, HALT, millis, type StandingHalts } from "@orgate/core/vocab";
import { createFleetFold, type FleetView, shorten } from "@orgate/protocol/view";
import type { Shell } from "../contract.ts";
import { ageText } from "../terminal/table.ts";
import { visible } from "../terminal/visible.ts";
import { formatMoney, type ScreenLook } from "./look.ts";
import { fitTable } from "./tables.ts";

const HOUR_MS = 3_600_000;
const HOURS = 24;

function fleetRows(
  { agents, running, waiting, halted: kept }: FleetView,
  halted: ReadonlyMap<string, string>,
  { paint, columns }: ScreenLook,
  now: number,
): readonly string[] {
  const percent = (rate: number | null): string => (rate === null ? "-" : `${Math.round(rate * 100)} %`);
  const rows = agents.map((one) => [
    one.agent,
    String(one.running.length),
    { text: String(one.waiting), tone: one.waiting > 0 ? "warn" : "plain" } as const,
    String(one.counts.turns),
    percent(one.success),
    percent(one.denial),
    one.counts.micros === 0 ? "-" : formatMoney(one.counts.micros),
    halted.has(one.agent) ? ({ text: `halted: ${halted.get(one.agent) ?? ""}`, tone: "bad" } as const) : "",
  ]);
  const turns = agents.flatMap((one) => one.running);
  return [
    paint("strong", `${running} running, ${waiting} waiting${kept === 0 ? "" : `, ${kept} halted`}`),
    ...fitTable(["agent", "running", "waiting", "turns", "done", "denied", "cost", ""], rows, { paint, columns }),
    ...turns.map(({ agent, session, doing, since }) =>
      paint("dim", shorten(`  ${visible(agent)} ${session.slice(-6)} ${visible(doing)} · ${ageText(now - since)}`, columns - 1)),
    ),
  ];
}

export async function monitor(_: string, shell: Shell): Promise<void> {
  const { client } = shell.connection;
  await shell.refreshAgents();
  const names = shell.agents().map(({ name }) => name);
  const hour = Math.floor(Date.now() / HOUR_MS);
  const [running, waiting, usage, halts] = await Promise.all([
    shell.unwrap(client.call("sessions", { query: { state: "running", limit: 500 } })),
    shell.unwrap(client.call("sessions", { query: { state: "waiting", limit: 500 } })),
    shell.unwrap(client.call("usage", { query: { from: hour - HOURS + 1, to: hour + 1 } })),
    shell.unwrap(client.call("halts", { query: { limit: 500 } })),
  ]);
  if (running === null || waiting === null) return;
  let standing: StandingHalts = new Map((halts?.items ?? []).map((halt) => [halt.scope, halt]));
  const halted = (): ReadonlyMap<string, string> =>
    new Map(
      shell.agents().flatMap(({ name }) => {
        const halt = findAgentHalt({ halts: standing }, name);
        return halt === null ? [] : [[name, halt.reason]];
      }),
    );
  const fold = createFleetFold(names, [...running.items, ...waiting.items], usage?.rows ?? []);
  const rows = (look: ScreenLook): readonly string[] =>
    fleetRows(fold.view(millis(Date.now()), [...standing.values()]), halted(), look, Date.now());
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  const isDrawn = shell.ui.show({
    rows: (look, most) => [...rows(look).slice(0, Math.max(most - 1, 1)), look.paint("dim", "  q or Esc leaves")],
    pressed(key) {
      const isLeft = (key.kind === "text" && key.text === "q") || (key.kind === "named" && key.name === "escape") || key.kind === "ctrl";
      if (isLeft) leave();
    },
  });
  if (!isDrawn) return shell.ui.print(rows(shell.ui.look()));
  const stop = shell.link.follow({ kind: "all" }, "now", {
    entries(items) {
      for (const item of items) {
        if (item.kind !== "entry") continue;
        fold.add(item.entry);
        if (item.entry.stream === HALT) standing = foldHalts(standing, [item.entry]);
      }
      shell.ui.changed();
    },
  });
  await left;
  stop();
  shell.ui.show(null);
}
