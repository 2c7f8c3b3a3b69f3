/** Q-17 halts in force, on every screen: scope, person, time and reason, and a button to lift each. */
import { escapeHidden } from "@orgate/core/vocab";
import type { Problem } from "@orgate/protocol";
import { use, useState } from "react";
import { useHub } from "../link/use.ts";
import { Button } from "../parts/Button.tsx";
import { ReasonDialog } from "../parts/forms/ReasonDialog.tsx";
import { Link } from "../parts/Link.tsx";
import { Tag } from "../parts/Tag.tsx";
import { Time } from "../parts/time/Time.tsx";
import { type Halt, haltName } from "../screens/halts.ts";
import { OverviewContext } from "../screens/overview.ts";
import { toast } from "../state/toasts.ts";
import css from "./HaltBanner.module.css";

const MOST = 3;

export function HaltBanner() {
  const { halts, reloadHalts } = use(OverviewContext);
  if (halts.length === 0) return null;
  return (
    <section className={css.halted} aria-label="Halts">
      <ul>
        {halts.slice(0, MOST).map((halt) => (
          <li key={halt.scope}>
            <Tag tone="bad">halted</Tag>
            <span>
              <strong>{escapeHidden(haltName(halt.scope))}</strong>, by {escapeHidden(halt.by.id)}, <Time at={halt.at} />:{" "}
              {halt.reason === "" ? "no reason was given" : escapeHidden(halt.reason)}
            </span>
            <Lift halt={halt} reload={reloadHalts} />
          </li>
        ))}
      </ul>
      {halts.length > MOST ? (
        <p>
          and {halts.length - MOST} more: <Link to="/journal?kind=work.halted">all halts in the journal</Link>
        </p>
      ) : null}
    </section>
  );
}

/** W-18 says what lifting does, and asks for the reason. */
function Lift({ halt, reload }: Readonly<{ halt: Halt; reload(): void }>) {
  const hub = useHub();
  const [isOpen, setOpen] = useState(false);
  const { scope, by, reason: halted, at } = halt;
  const lift = async (reason: string): Promise<Problem | null> => {
    const came = await hub.call("resumeWork", { body: { scope, reason } });
    if (came.kind === "problem") return came.problem;
    toast({ tone: "ok", title: "Halt lifted", detail: haltName(scope) });
    reload();
    return null;
  };
  return (
    <>
      <Button size="small" onClick={() => setOpen(true)}>
        Lift the halt
      </Button>
      {isOpen ? (
        <ReasonDialog title={`Lift the halt of ${haltName(scope)}`} does="Lift the halt" send={lift} close={() => setOpen(false)}>
          <p>
            {escapeHidden(by.id)} halted it <Time at={at} />: {halted === "" ? "no reason was given" : escapeHidden(halted)}.
          </p>
          <p>
            {scope === "all" ? "Every halt is lifted, those of single agents and tools too. " : ""}Messages sent meanwhile are taken up and
            approved calls run, in every process of the project. Turns that were halted stay ended.
          </p>
        </ReasonDialog>
      ) : null}
    </>
  );
}
