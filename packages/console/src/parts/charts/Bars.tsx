/** Stacked bars over days; the label repeats them as figures for screen readers. */
import { countNoun } from "@orgate/core/vocab";
import css from "./Bars.module.css";

export type BarRow = Readonly<{ name: string; title: string; parts: readonly Readonly<{ of: string; value: number }>[] }>;
type Props = Readonly<{ bars: readonly BarRow[]; kinds: readonly string[]; label: string; text(value: number): string }>;

const HEIGHT = 180;
/** Colours of the parts; the last one is for all others. */
export const COLOURS = ["act", "reason", "observe", "gate", "rest"] as const;

export function Bars({ bars, kinds, label, text }: Props) {
  const sums = bars.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const most = Math.max(...sums, 0);
  const every = Math.max(1, Math.ceil(bars.length / 8));
  return (
    <figure className={css.figure}>
      <div className={css.chart} role="img" aria-label={`${label}: ${countNoun(bars.length, "day")}, at most ${text(most)} in one`}>
        <div className={css.scale} aria-hidden="true">
          <span>{text(most)}</span>
          <span>{text(most / 2)}</span>
          <span>0</span>
        </div>
        <div className={css.plot} aria-hidden="true">
          {bars.map(({ name, title, parts }, i) => (
            <div key={name} className={css.day} title={`${title}: ${text(sums[i] ?? 0)}`}>
              <div className={css.stack}>
                {parts.map(({ of, value }) =>
                  value === 0 ? null : (
                    <span
                      key={of}
                      className={css[COLOURS[Math.min(kinds.indexOf(of), COLOURS.length - 1)] ?? "rest"]}
                      style={{ height: `${most === 0 ? 0 : Math.max(1, (value / most) * HEIGHT)}px` }}
                    />
                  ),
                )}
              </div>
              <span className={`${css.name} ${i % (2 * every) === 0 ? "" : css.second}`}>{i % every === 0 ? title : ""}</span>
            </div>
          ))}
        </div>
      </div>
      <figcaption className={css.legend}>
        {kinds.map((kind, i) => (
          <span key={kind}>
            <i className={css[COLOURS[Math.min(i, COLOURS.length - 1)] ?? "rest"]} aria-hidden="true" /> {kind}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** A bar in a table row: its share of the largest value. */
export function Share({ value, of }: Readonly<{ value: number; of: number }>) {
  return (
    <span className={css.share} aria-hidden="true">
      <span style={{ width: `${of === 0 ? 0 : (value / of) * 100}%` }} />
    </span>
  );
}
