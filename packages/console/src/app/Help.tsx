/** The list of all keyboard shortcuts that work right now. */

import { Dialog } from "../parts/forms/Dialog.tsx";
import { navigate } from "../routing/router.ts";
import { SCREENS } from "../screens/index.ts";
import { cell, useCell } from "../state/cell.ts";
import { singleKeys } from "../state/preferences.ts";
import { keysText, shortcuts, useShortcuts } from "../state/shortcuts.ts";
import css from "./Help.module.css";

export const isHelpOpen = cell(false);

export function Help() {
  const open = useCell(isHelpOpen);
  const all = useCell(shortcuts);
  const single = useCell(singleKeys);
  useShortcuts([
    { keys: "?", says: "These shortcuts", run: () => isHelpOpen.set(true), group: "Everywhere" },
    ...SCREENS.flatMap(({ shortcut, title, paths }) =>
      shortcut === null ? [] : [{ keys: shortcut, says: `Go to ${title}`, run: () => navigate(paths[0]), group: "Everywhere" }],
    ),
  ]);
  const groups = [...new Set(all.map(({ group = "On this screen" }) => group))].sort(
    (a, b) => Number(a === "Everywhere") - Number(b === "Everywhere"),
  );
  return (
    <Dialog open={open} onClose={() => isHelpOpen.set(false)} title="Keyboard shortcuts">
      {groups.map((group) => (
        <section key={group} className={css.group}>
          <h3>{group}</h3>
          <dl>
            {all
              .filter((one, i) => (one.group ?? "On this screen") === group && all.findIndex(({ keys }) => keys === one.keys) === i)
              .map(({ keys, says }) => (
                <div key={keys} className={css.row}>
                  <dt>
                    {keysText(keys).map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dt>
                  <dd>{says}</dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
      <label className={css.switch}>
        <input type="checkbox" checked={single === "on"} onChange={({ target }) => singleKeys.set(target.checked ? "on" : "off")} />
        Use single-key shortcuts (those with Ctrl or ⌘ always work)
      </label>
    </Dialog>
  );
}
