/**
 * Find anything, do anything: screens, agents, sessions, policies, schedules, colours. `Ctrl K`.
 * It finds sessions by title, by any id that Sessions shows, and by words of recent messages; policies by id and file. The server returns only what the
 * person may see.
 */

import { escapeHidden, isSessionId } from "@orgate/core/vocab";
import type { OperationOutput } from "@orgate/protocol";
import { hasWords, searchWords } from "@orgate/protocol/view";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { serverNow } from "../link/clock.ts";
import { useQuery } from "../link/use.ts";
import { Dialog } from "../parts/forms/Dialog.tsx";
import { Icon, type IconName } from "../parts/Icon.tsx";
import { shortTime } from "../parts/time/time.ts";
import { chatPath, policyPath, schedulePath, sessionPath } from "../routing/addresses.ts";
import { navigate, pathTo } from "../routing/router.ts";
import { SCREENS } from "../screens/index.ts";
import { cell, useCell } from "../state/cell.ts";
import { theme } from "../state/preferences.ts";
import { keysText, useShortcuts } from "../state/shortcuts.ts";
import { isHelpOpen } from "./Help.tsx";
import css from "./Palette.module.css";

export const isPaletteOpen = cell(false);

/** `also`: further text that it is found by. */
type Choice = Readonly<{ id: string; icon: IconName; text: string; aside: string; also?: string; run(): void }>;

export function Palette() {
  const open = useCell(isPaletteOpen);
  useShortcuts([{ keys: "mod+k", says: "Find anything", run: () => isPaletteOpen.set(true), group: "Everywhere" }]);
  return (
    <Dialog open={open} onClose={() => isPaletteOpen.set(false)} title="Find anything" titleHidden>
      {open ? <Finder /> : null}
    </Dialog>
  );
}

const MOST = 12;
const FINDS = "Find a screen, agent, session, message, policy or schedule";
const SAYS = {
  looking: "Searching…",
  nothing: "No match.",
  partly: "No match in what the server returned; part of it could not be read.",
};

function Finder() {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useId();
  const { choices, found } = useChoices(text);
  useEffect(() => setAt((now) => Math.min(now, Math.max(0, choices.length - 1))), [choices.length]);
  const take = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    isPaletteOpen.set(false);
    choice.run();
  };
  const press = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt((now) => (now + step + choices.length) % Math.max(1, choices.length));
    } else if (event.key === "Enter" && !event.nativeEvent.isComposing) {
      event.preventDefault();
      take(choices[at]);
    }
  };
  return (
    <>
      <input
        className={css.field}
        role="combobox"
        aria-label={FINDS}
        aria-expanded={choices.length > 0}
        aria-controls={list}
        aria-activedescendant={choices[at] === undefined ? undefined : `${list}-${at}`}
        placeholder={FINDS}
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
        }}
        onKeyDown={press}
      />
      <div id={list} role="listbox" aria-label="Results" className={css.list} hidden={choices.length === 0}>
        {choices.map((choice, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the field's, as in every combobox
          <div
            key={choice.id}
            id={`${list}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            className={css.choice}
            onClick={() => take(choice)}
          >
            <Icon name={choice.icon} />
            <span className={css.text}>{choice.text}</span>
            <span className={css.aside}>{choice.aside}</span>
          </div>
        ))}
      </div>
      <p role="status" className={css.none}>
        {choices.length > 0 ? "" : SAYS[found]}
      </p>
    </>
  );
}

function useChoices(text: string): Readonly<{ choices: readonly Choice[]; found: keyof typeof SAYS }> {
  const agents = useQuery("agents", { query: { limit: 500 } });
  const sessions = useQuery("sessions", { query: { limit: 50 } });
  const policies = useQuery("policies", {});
  const said = useSearched(text);
  const schedules = useQuery("schedules", { query: { limit: 100 } });
  const all: Choice[] = [
    ...SCREENS.map(
      ({ id, title, says, icon, shortcut, paths }): Choice => ({
        id: `screen ${id}`,
        icon,
        text: `${title}: ${says}`,
        aside: shortcut === null ? "" : keysText(shortcut).join(" "),
        run: () => navigate(paths[0]),
      }),
    ),
    ...(agents.value?.items ?? []).map(
      ({ name, description }): Choice => ({
        id: `agent ${name}`,
        icon: "fleet",
        text: escapeHidden(`Talk with ${name}${description === "" ? "" : `: ${description}`}`),
        aside: "agent",
        run: () => navigate(pathTo("/chat/with/{agent}", { agent: name })),
      }),
    ),
    ...(sessions.value?.items ?? []).map(sessionChoice),
    ...(policies.value?.policies ?? []).map(
      ({ id, file, line }): Choice => ({
        id: `policy ${file} ${line} ${id}`,
        icon: "policies",
        text: escapeHidden(`Policy ${id}`),
        aside: escapeHidden(`${file}:${line}`),
        run: () => navigate(policyPath(id)),
      }),
    ),
    ...(schedules.value?.items ?? []).map(
      ({ schedule, spec, state }): Choice => ({
        id: `schedule ${schedule}`,
        icon: "schedules",
        text: `Schedule ${schedule}: ${spec.agent}`,
        aside: state,
        run: () => navigate(schedulePath(schedule)),
      }),
    ),
    ...(["light", "dark", "system"] as const).map(
      (name): Choice => ({ id: `theme ${name}`, icon: name, text: `Colours: ${name}`, aside: "", run: () => theme.set(name) }),
    ),
    { id: "help", icon: "guide", text: "Keyboard shortcuts", aside: "?", run: () => isHelpOpen.set(true) },
  ];
  const asked = [agents, sessions, policies, schedules, said];
  const named = text.trim();
  if (isSessionId(named))
    all.unshift({ id: `named ${named}`, icon: "sessions", text: `Session ${named}`, aside: "", run: () => navigate(sessionPath(named)) });
  const words = searchWords(text);
  const fitting = all.filter((choice) => hasWords(`${choice.text} ${choice.id} ${choice.also ?? ""}`, words));
  const known = new Set(fitting.map(({ id }) => id));
  const found = said.items.map(sessionChoice).filter(({ id }) => !known.has(id));
  return {
    choices: [...fitting.slice(0, found.length === 0 ? MOST : MOST - Math.min(found.length, MOST_SAID)), ...found].slice(0, MOST),
    found: asked.some(({ isLoading }) => isLoading) ? "looking" : asked.some(({ problem }) => problem !== null) ? "partly" : "nothing",
  };
}

type Summary = OperationOutput<"sessions">["items"][number];
const sessionChoice = ({ session, external, title, agent, lastAt, state }: Summary): Choice => ({
  id: `session ${session}`,
  icon: "sessions",
  text: escapeHidden(`${agent} · ${title ?? external ?? session}`),
  aside: `${state}, ${shortTime(lastAt, serverNow())}`,
  also: external ?? "",
  run: () => navigate(chatPath(session)),
});

const SHORTEST = 3;
const SETTLE_MS = 200;
/** Rows reserved for results that only the server can find. */
const MOST_SAID = 5;

/** Searches older sessions and their messages on the server, once typing has stopped. */
function useSearched(text: string) {
  const wanted = text.trim().slice(0, 200);
  const [sought, setSought] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSought(wanted.length < SHORTEST ? "" : wanted), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [wanted]);
  const found = useQuery(sought === "" ? null : "sessions", { query: { limit: MOST, text: sought } });
  const isMeant = sought !== "" && sought === wanted; // results of an earlier text are not shown
  const isLoading = wanted.length >= SHORTEST && (!isMeant || found.isLoading);
  return { items: isMeant && !found.isLoading ? (found.value?.items ?? []) : [], isLoading, problem: isMeant ? found.problem : null };
}
