/** Small fields in a row: the filters of a list. */
import { type ReactNode, useEffect, useId, useState } from "react";
import { Button } from "../Button.tsx";
import css from "./Fields.module.css";

/** On a phone the fields are folded, and the button says how many are in use: results come first. */
export function Fields({ label, active = 0, children }: Readonly<{ label: string; active?: number; children: ReactNode }>) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <search className={`${css.search} ${isOpen ? css.open : ""}`} aria-label={label}>
      <div className={css.fold}>
        <Button icon="filter" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
          {active === 0 ? label : `${label}, ${active} in use`}
        </Button>
      </div>
      <div id={id} className={css.fields}>
        {children}
      </div>
    </search>
  );
}

/** `group`: the heading above it, in long lists; choices of one group follow each other. */
type Choice = Readonly<{ value: string; text: string; group?: string }>;
type SelectProps = Readonly<{ label: string; value: string; choices: readonly Choice[]; choose(value: string): void }>;

export function Select({ label, value, choices, choose }: SelectProps) {
  const id = useId();
  const known = choices.some((choice) => choice.value === value);
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => choose(target.value)}>
        {known ? null : <option value={value}>{value}</option>}
        {grouped(choices).map(([group, all]) => {
          const options = all.map(({ value: one, text }) => (
            <option key={one} value={one}>
              {text}
            </option>
          ));
          return group === "" ? (
            options
          ) : (
            <optgroup key={group} label={group}>
              {options}
            </optgroup>
          );
        })}
      </select>
    </div>
  );
}

function grouped(choices: readonly Choice[]): readonly (readonly [group: string, choices: readonly Choice[]])[] {
  const groups = new Map<string, Choice[]>();
  for (const choice of choices) {
    const group = choice.group ?? "";
    groups.set(group, [...(groups.get(group) ?? []), choice]);
  }
  return [...groups];
}

type TextProps = Readonly<{
  label: string;
  value: string;
  set(value: string): void;
  placeholder?: string;
  suggestions?: readonly string[];
}>;
const SETTLE_MS = 250;

/** Reports its value once typing has stopped. */
export function Text({ label, value, set, placeholder = "", suggestions = [] }: TextProps) {
  const id = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what was typed counts
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => set(text.trim()), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={text}
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        list={suggestions.length === 0 ? undefined : `${id}-known`}
        onChange={({ target }) => setText(target.value)}
      />
      {suggestions.length === 0 ? null : (
        <datalist id={`${id}-known`}>
          {suggestions.map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
      )}
    </div>
  );
}
