/**
 * The state of the connection. O-5 while it is lost the screen stays as it was, marked as of then.
 * A page that is older than its server says so, and keeps working.
 */
import { use, useEffect, useState } from "react";
import { useHub } from "../link/use.ts";
import { describeHalt } from "../screens/halts.ts";
import { OverviewContext } from "../screens/overview.ts";
import { useCell } from "../state/cell.ts";
import css from "./Connection.module.css";
import { reloadPage, useIsOutdated } from "./loading.ts";

/** A connection that comes back sooner is not reported. */
const PATIENCE_MS = 700;

export function Connection() {
  const hub = useHub();
  const state = useCell(hub.connection);
  const [isLate, setLate] = useState(false);
  const isOpen = state.kind === "open";
  useEffect(() => {
    if (isOpen) {
      setLate(false);
      return;
    }
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [isOpen]);
  const isOld = useIsOutdated(isOpen);
  const lost = !isOpen && isLate;
  const halt = use(OverviewContext).halts.find(({ scope }) => scope === "all");
  const text = !lost ? (halt === undefined ? "Live" : "Halted") : state.kind === "connecting" ? "Reconnecting…" : "Not connected";
  const title = lost
    ? "You see the state as of the last update. It reconnects and continues by itself."
    : halt === undefined
      ? "This page updates live"
      : `${describeHalt(halt)}. This page updates live.`;
  return (
    <>
      <p className={`${css.connection} ${lost || halt !== undefined ? css.lost : ""}`} role="status" title={title}>
        <span aria-hidden="true" />
        {text}
      </p>
      {isOld ? (
        <button
          type="button"
          className={css.old}
          title="The server has a newer version of the console. Reloading brings you back here; unsent text is kept."
          onClick={() => void reloadPage()}
        >
          Updated: reload
        </button>
      ) : null}
    </>
  );
}
