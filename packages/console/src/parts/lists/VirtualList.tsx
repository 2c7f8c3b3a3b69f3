/**
 * A list of any length; only the rows on screen are in the page.
 * A list that follows its end stays there while it grows. Once somebody scrolls up, however little, it stays put and nothing above jumps.
 */
import { useVirtualizer } from "@tanstack/react-virtual";
import { type KeyboardEvent, type ReactNode, type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { keyName } from "../../state/shortcuts.ts";
import css from "./VirtualList.module.css";

type Props = Readonly<{
  count: number;
  keyAt(index: number): string;
  row(index: number): ReactNode;
  estimate?: number;
  /** Stays at the end while it grows. */
  follow?: boolean;
  /** Changes whenever the last row may have grown. */
  version?: number;
  label: string;
  className?: string | undefined;
  /** Scrolls there once it is set. */
  goTo?: number | null;
  after?: ReactNode;
  /** No higher than its rows; otherwise it fills the space there is. */
  snug?: boolean;
  /** Called by the arrow keys, with one step; the list is then one stop for Tab. */
  onStep?(by: number): void;
}>;

const NEAR = 80;
/** Least height of a list in a low window: below it the page scrolls. */
const LEAST_PX = 224;

export function VirtualList({
  count,
  keyAt,
  row,
  estimate = 60,
  follow = false,
  version = 0,
  label,
  className,
  goTo = null,
  after,
  snug = false,
  onStep,
}: Props) {
  const box: RefObject<HTMLDivElement | null> = useRef(null);
  const list = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => estimate,
    getItemKey: keyAt,
    overscan: 4,
  });
  const height = list.getTotalSize();
  const { isAway, scrolled, jumpToEnd } = useFollowEnd(box, follow, `${count} ${version} ${height}`);
  useEffect(() => {
    if (goTo !== null) list.scrollToIndex(goTo, { align: "start" });
  }, [goTo, list]);

  const pressed = (event: KeyboardEvent): void => {
    const { key } = event;
    if (onStep === undefined || keyName(event) !== key || (key !== "ArrowDown" && key !== "ArrowUp")) return;
    event.preventDefault();
    box.current?.focus({ preventScroll: true }); // a row may be gone by the next key
    onStep(key === "ArrowDown" ? 1 : -1);
  };
  return (
    <div
      className={`${css.outer} ${snug ? css.snug : ""} ${className ?? ""}`}
      style={snug ? { minHeight: Math.min(height + (after === null ? 2 : 60), LEAST_PX) } : undefined}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section ref={box} className={css.box} onScroll={scrolled} onKeyDown={pressed} aria-label={label} tabIndex={0}>
        <div className={css.inner} style={{ height }}>
          <div className={css.rows} style={{ transform: `translateY(${list.getVirtualItems()[0]?.start ?? 0}px)` }}>
            {list.getVirtualItems().map(({ key, index }) => (
              <div key={key} data-index={index} ref={list.measureElement}>
                {row(index)}
              </div>
            ))}
          </div>
        </div>
        {after}
      </section>
      {follow && isAway ? (
        <button type="button" className={css.toEnd} onClick={jumpToEnd}>
          To the end ↓
        </button>
      ) : null}
    </div>
  );
}

/** Keeps a growing list at its end, until somebody scrolls up. `version` changes whenever anything may have grown. */
function useFollowEnd(box: RefObject<HTMLDivElement | null>, follow: boolean, version: string) {
  const isAtEnd = useRef(true);
  const seen = useRef(0); // the scroll position at the last look
  const [isAway, setAway] = useState(false);
  const toEnd = useCallback(() => {
    const element = box.current;
    if (element === null) return;
    element.scrollTop = element.scrollHeight;
    seen.current = element.scrollTop;
  }, [box]);
  /** A list that grew or shrank does not scroll up and leave rows below it: a person does. Also called before scrolling, since growth is drawn before the scroll event arrives. */
  const look = useCallback(() => {
    const element = box.current;
    if (element === null) return;
    const below = element.scrollHeight - element.scrollTop - element.clientHeight;
    if (element.scrollTop < seen.current - 1 && below > 1) isAtEnd.current = false;
    else if (element.scrollTop > seen.current + 1 && below < NEAR) isAtEnd.current = true;
    seen.current = element.scrollTop;
  }, [box]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` changes whenever anything may have grown
  useLayoutEffect(() => {
    if (!follow) return;
    look();
    if (isAtEnd.current) toEnd();
  }, [follow, version, look, toEnd]);
  return {
    isAway,
    scrolled: (): void => {
      look();
      setAway(!isAtEnd.current);
    },
    jumpToEnd: (): void => {
      isAtEnd.current = true;
      toEnd();
    },
  };
}
