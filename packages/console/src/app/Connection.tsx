/**
 * Whether what is on screen is the present. O-5 what is shown while the connection is lost stays, and is said to be as of then.
 * A page that is older than its server says so, and goes on.
 */
import { use, useEffect, useState } from "react";
import { useHub } from "../link/use.ts";
import { describeHalt } from "../screens/halts.ts";
import { OverviewContext } from "../screens/overview.ts";
import { useCell } from "../state/cell.ts";
import css from "./Connection.module.css";
import { reloadPage, useIsOutdated } from "./loading.ts";

/** A connection that comes back at once is not worth a word. */
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
    ? "What you see is as of the last word from the server. It goes on from there by itself."
    : halt === undefined
      ? "Everything on this page is told as it happens"
      : `${describeHalt(halt)}. This page is told as it happens.`;
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
          title="The server has another version of the console by now. You come back here, and what you had begun to write is kept."
          onClick={() => void reloadPage()}
        >
          Updated: load again
        </button>
      ) : null}
    </>
  );
}
