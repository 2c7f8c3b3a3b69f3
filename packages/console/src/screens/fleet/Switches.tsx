/** The halt switch, and breakers: what stops work, and lets it go on. Both are asked for with a reason, and are on record. */
import { escapeHidden } from "@orgate/core/vocab";
import type { Problem, RouteOutput } from "@orgate/core/wire";
import { useState } from "react";
import { useHub } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { Field, Form } from "../../parts/Form.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { Time } from "../../parts/Time.tsx";
import { toast, toastProblem } from "../../parts/toasts.ts";
import css from "./Fleet.module.css";

type HaltsProps = Readonly<{ halts: RouteOutput<"halts">["items"]; reload(): void }>;

export function Halts({ halts, reload }: HaltsProps) {
  const hub = useHub();
  const [isOpen, setOpen] = useState(false);
  const resume = async (scope: string): Promise<void> => {
    const came = await hub.call("resumeWork", { body: { scope, reason: "let go on in the console" } });
    if (came.kind === "problem") toastProblem("It stays halted", came.problem);
    else toast({ tone: "ok", title: "Work goes on", detail: scope === "all" ? "everywhere" : scope });
    reload();
  };
  return (
    <>
      {halts.map(({ scope, by, at }) => (
        <span key={scope} className={css.halt}>
          <Tag tone="bad">halted: {escapeHidden(scope)}</Tag> by {escapeHidden(by.id)}, <Time at={at} />
          <Button size="small" onClick={() => void resume(scope)}>
            Let it go on
          </Button>
        </span>
      ))}
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
  const halt = async (): Promise<Problem | null> => {
    const came = await hub.call("halt", { body: { scope: scope.trim(), reason } });
    if (came.kind === "problem") return came.problem;
    toast({ tone: "ok", title: "Halted", detail: "nothing new begins there, and what ran is stopped" });
    done();
    return null;
  };
  return (
    <Form send={halt} does="Halt" icon="stop" tone="bad">
      <p>Nothing new begins in what is halted, and what runs is stopped, in every process of the project. Questions stay open.</p>
      <Field label="What (all, agent:NAME or tool:NAME)">
        {(id) => <input id={id} value={scope} required pattern="all|(agent|tool):.+" onChange={({ target }) => setScope(target.value)} />}
      </Field>
      <Field label="Why">{(id) => <input id={id} value={reason} required onChange={({ target }) => setReason(target.value)} />}</Field>
    </Form>
  );
}

type BreakersProps = Readonly<{ breakers: RouteOutput<"breakers">["items"]; reload(): void }>;

export function Breakers({ breakers, reload }: BreakersProps) {
  const hub = useHub();
  if (breakers.length === 0) return null;
  const set = async (breaker: string, to: "open" | "closed"): Promise<void> => {
    const came = await hub.call("setBreaker", { body: { breaker, to, reason: "set in the console" } });
    if (came.kind === "problem") toastProblem("It stays as it is", came.problem);
    reload();
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
            <Button size="small" onClick={() => void set(breaker, state === "closed" ? "open" : "closed")}>
              {state === "closed" ? "Open it" : "Close it"}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
