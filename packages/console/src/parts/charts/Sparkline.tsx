import css from "./Sparkline.module.css";

type Props = Readonly<{ values: readonly number[]; label: string; tone?: "plain" | "bad" | "reason" | "act" }>;

const WIDTH = 96;
const HEIGHT = 24;

/** A trend as small bars. The figures stand beside it and in its label. */
export function Sparkline({ values, label, tone = "plain" }: Props) {
  const most = Math.max(...values, 0);
  const step = values.length < 2 ? WIDTH : WIDTH / values.length;
  const bars = values
    .map((value, i) => {
      const height = most === 0 ? 0 : Math.max(value > 0 ? 1.5 : 0, (value / most) * (HEIGHT - 2));
      return `M${(i * step).toFixed(1)} ${HEIGHT}v${(-height).toFixed(1)}h${Math.max(1, step - 1).toFixed(1)}v${height.toFixed(1)}z`;
    })
    .join("");
  return (
    <svg
      className={`${css.sparkline} ${css[tone]}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path className={css.ground} d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      <path d={bars} />
    </svg>
  );
}
