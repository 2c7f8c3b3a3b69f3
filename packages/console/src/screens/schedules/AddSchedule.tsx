/** Adds a schedule that runs as the person who adds it. The server's objections are shown in the form. */
import type { Problem } from "@orgate/protocol";
import { cronWords } from "@orgate/protocol/view";
import { useState } from "react";
import { useHub, useQuery } from "../../link/use.ts";
import { Dialog } from "../../parts/forms/Dialog.tsx";
import { Field, Form, TwoColumns } from "../../parts/forms/Form.tsx";
import { schedulePath } from "../../routing/addresses.ts";
import { navigate } from "../../routing/router.ts";
import { toast } from "../../state/toasts.ts";

export function AddScheduleDialog({ open, onClose }: Readonly<{ open: boolean; onClose(): void }>) {
  return (
    <Dialog open={open} onClose={onClose} title="Add a schedule">
      {open ? <AddForm onClose={onClose} /> : null}
    </Dialog>
  );
}

const HERE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const OVERLAPS = [
  ["skip", "skip the next"],
  ["queue", "queue the next"],
  ["parallel", "run both in parallel"],
] as const;
const MISSED = [
  ["once", "fire once, late"],
  ["skip", "skip"],
  ["all", "fire each, late"],
] as const;

type Given = Readonly<{
  schedule: string;
  agent: string;
  how: "cron" | "at";
  cron: string;
  at: string;
  timezone: string;
  input: string;
  overlap: (typeof OVERLAPS)[number][0];
  missed: (typeof MISSED)[number][0];
}>;
const FIRST: Given = {
  schedule: "",
  agent: "",
  how: "cron",
  cron: "0 9 * * 1-5",
  at: "",
  timezone: HERE,
  input: "",
  overlap: "skip",
  missed: "once",
};

function AddForm({ onClose }: Readonly<{ onClose(): void }>) {
  const hub = useHub();
  const agents = useQuery("agents", { query: { limit: 500 } });
  const known = agents.value?.items ?? [];
  const [given, setGiven] = useState(FIRST);
  const set = (change: Partial<Given>): void => setGiven((now) => ({ ...now, ...change }));
  const send = async (): Promise<Problem | null> => {
    const { schedule, agent, how, cron, at, timezone, input, overlap, missed } = given;
    const when = how === "cron" ? { cron } : { at };
    const says = input.trim() === "" ? {} : { input };
    const came = await hub.call("addSchedule", {
      body: {
        schedule: schedule.trim(),
        agent: agent === "" ? (known[0]?.name ?? "") : agent,
        ...when,
        timezone,
        ...says,
        overlap,
        missed,
      },
    });
    if (came.kind === "problem") return came.problem;
    toast({ tone: "ok", title: "Added", detail: `${came.value.schedule} runs on your behalf` });
    onClose();
    navigate(schedulePath(came.value.schedule));
    return null;
  };
  return (
    <Form send={send} does="Add" icon="plus" cancel={onClose}>
      <TwoColumns>
        <Field label="Name">
          {(id) => (
            <input
              id={id}
              required
              pattern="[A-Za-z0-9_\-]{1,64}"
              title="1 to 64 letters, digits, _ and -"
              autoComplete="off"
              value={given.schedule}
              onChange={({ target }) => set({ schedule: target.value })}
            />
          )}
        </Field>
        <Field label="Agent">
          {(id) => (
            <select id={id} value={given.agent} onChange={({ target }) => set({ agent: target.value })}>
              {known.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
      </TwoColumns>
      <Field label="Message to the agent">
        {(id) => (
          <textarea
            id={id}
            rows={2}
            maxLength={20_000}
            placeholder="It is time."
            value={given.input}
            onChange={({ target }) => set({ input: target.value })}
          />
        )}
      </Field>
      <WhenFields given={given} set={set} />
      <HowFields given={given} set={set} />
    </Form>
  );
}

type FieldsProps = Readonly<{ given: Given; set(change: Partial<Given>): void }>;

function HowFields({ given, set }: FieldsProps) {
  return (
    <TwoColumns>
      <Field label="Time zone">
        {(id) => (
          <input id={id} required spellCheck={false} value={given.timezone} onChange={({ target }) => set({ timezone: target.value })} />
        )}
      </Field>
      <Field label="If the previous one still runs">
        {(id) => <Choices id={id} of={OVERLAPS} at={given.overlap} choose={(overlap) => set({ overlap })} />}
      </Field>
      <Field label="Missed times">{(id) => <Choices id={id} of={MISSED} at={given.missed} choose={(missed) => set({ missed })} />}</Field>
    </TwoColumns>
  );
}

function WhenFields({ given, set }: FieldsProps) {
  const words = given.how === "cron" ? cronWords(given.cron) : null;
  return (
    <>
      <TwoColumns>
        <Field label="When">
          {(id) => (
            <select id={id} value={given.how} onChange={({ target }) => set({ how: target.value === "at" ? "at" : "cron" })}>
              <option value="cron">repeatedly (cron)</option>
              <option value="at">once, at</option>
            </select>
          )}
        </Field>
        {given.how === "cron" ? (
          <Field label="Cron: minute hour day month weekday">
            {(id) => (
              <input
                id={id}
                required
                spellCheck={false}
                autoComplete="off"
                value={given.cron}
                onChange={({ target }) => set({ cron: target.value })}
              />
            )}
          </Field>
        ) : (
          <Field label="Time">
            {(id) => <input id={id} required type="datetime-local" value={given.at} onChange={({ target }) => set({ at: target.value })} />}
          </Field>
        )}
      </TwoColumns>
      <p role="status">{words === null ? "" : `Fires ${words}, ${given.timezone} time.`}</p>
    </>
  );
}

type ChoicesProps<T extends string> = Readonly<{ id: string; of: readonly (readonly [T, string])[]; at: T; choose(value: T): void }>;
function Choices<T extends string>({ id, of, at, choose }: ChoicesProps<T>) {
  const taken = (value: string): void => {
    const found = of.find(([name]) => name === value);
    if (found !== undefined) choose(found[0]);
  };
  return (
    <select id={id} value={at} onChange={({ target }) => taken(target.value)}>
      {of.map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}
