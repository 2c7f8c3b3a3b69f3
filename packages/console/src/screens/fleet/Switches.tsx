/** The halt switch and the breakers. Each change needs a reason and is recorded. */
import { escapeHidden } from "@orgate/core/vocab";
import type { OperationOutput, Problem } from "@orgate/protocol";
import { useState } from "react";
import { useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Dialog } from "../../parts/forms/Dialog.tsx";
import { Field, Form } from "../../parts/forms/Form.tsx";
import { ReasonDialog } from "../../parts/forms/ReasonDialog.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Time } from "../../parts/time/Time.tsx";
import { toast } from "../../state/toasts.ts";
import { haltChoices, haltName } from "../halts.ts";
import css from "./Fleet.module.css";

/** Halts work. Halts in force are shown above every screen. */
export function HaltWork({ reload }: Readonly<{ reload(): void }>) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button tone="bad" icon="stop" onClick={() => setOpen(true)}>
        Halt work
      </Button>
      <Dialog open={isOpen} onClose={() => setOpen(false)} title="Halt work">
        {isOpen ? (
          <HaltForm
            done={() => {
              setOpen(false);
              reload();
            }}
          />
        ) : null}
      </Dialog>
    </>
  );
}

function HaltForm({ done }: Readonly<{ done(): void }>) {
  const hub = useHub();
  const [scope, setScope] = useState("all");
  const [reason, setReason] = useState("");
  const agents = useQuery("agents", { query: { limit: 500 } }).value?.items ?? [];
  const halt = async (): Promise<Problem | null> => {
    const came = await hub.call("halt", { body: { scope, reason } });
    if (came.kind === "problem") return came.problem;
    toast({ tone: "ok", title: `Halted ${haltName(scope)}`, detail: "running work is stopped and nothing new starts" });
    done();
    return null;
  };
  return (
    <Form send={halt} does="Halt" icon="stop" tone="bad">
      <p>Running work is stopped and nothing new starts, in every process of the project. Approval requests stay open.</p>
      <Field label="What">
        {(id) => (
          <select id={id} value={scope} onChange={({ target }) => setScope(target.value)}>
            {haltChoices(agents).map(({ label, choices }) => (
              <optgroup key={label} label={label}>
                {choices.map(({ value, text }) => (
                  <option key={value} value={value}>
                    {escapeHidden(text)}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        )}
      </Field>
      <Field label="Why">
        {(id) => (
          <input id={id} value={reason} required pattern=".*\S.*" maxLength={2_000} onChange={({ target }) => setReason(target.value)} />
        )}
      </Field>
    </Form>
  );
}

type BreakersProps = Readonly<{ breakers: OperationOutput<"breakers">["items"]; reload(): void }>;

export function Breakers({ breakers, reload }: BreakersProps) {
  const hub = useHub();
  const [setting, setSetting] = useState<Readonly<{ breaker: string; to: "open" | "closed" }> | null>(null);
  if (breakers.length === 0) return null;
  const set = async (reason: string): Promise<Problem | null> => {
    const came = setting === null ? null : await hub.call("setBreaker", { body: { ...setting, reason } });
    reload();
    return came?.kind === "problem" ? came.problem : null;
  };
  return (
    <section className={css.breakers} aria-labelledby="breakers">
      <h2 id="breakers">Breakers</h2>
      <ul>
        {breakers.map(({ breaker, state, failures, reason, at, until }) => (
          <li key={breaker}>
            <code>{escapeHidden(breaker)}</code>
            <Tag tone={state === "closed" ? "ok" : state === "open" ? "bad" : "wait"}>{state}</Tag>
            <span>
              {escapeHidden(reason)}
              {failures > 0 ? `, ${failures} failures` : ""}, <Time at={at} />
              {until !== null && state === "open" ? (
                <>
                  , tried again <Time at={until} />
                </>
              ) : null}
            </span>
            <Button size="small" onClick={() => setSetting({ breaker, to: state === "closed" ? "open" : "closed" })}>
              {state === "closed" ? "Open it" : "Close it"}
            </Button>
          </li>
        ))}
      </ul>
      {setting === null ? null : (
        <ReasonDialog
          title={`${setting.to === "open" ? "Open" : "Close"} ${escapeHidden(setting.breaker)}`}
          does={setting.to === "open" ? "Open the breaker" : "Close the breaker"}
          tone={setting.to === "open" ? "bad" : "first"}
          send={set}
          close={() => setSetting(null)}
        >
          <p>
            {setting.to === "open" ? "Every call to it is refused at once, until somebody closes it." : "Calls to it are allowed again."}
          </p>
        </ReasonDialog>
      )}
    </section>
  );
}
