/** The rail of a desktop, the bars of a phone: the same rows. */
import { Menu } from "@base-ui/react/menu";
import { signOut } from "../link/browser.ts";
import { useHub } from "../link/use.ts";
import { Icon } from "../parts/Icon.tsx";
import { Link } from "../parts/Link.tsx";
import { Logo } from "../parts/Logo.tsx";
import { navigate } from "../routing/router.ts";
import { SCREENS, type Screen } from "../screens/index.ts";
import { useBadges } from "../screens/overview.ts";
import { useCell } from "../state/cell.ts";
import { nextTheme, theme } from "../state/preferences.ts";
import { toastProblem } from "../state/toasts.ts";
import { unsentTexts } from "../state/unsent.ts";
import { Connection } from "./Connection.tsx";
import { isHelpOpen } from "./Help.tsx";
import css from "./Navigation.module.css";
import { isPaletteOpen } from "./Palette.tsx";

type At = Readonly<{ at: string | null }>;

export function Rail({ at }: At) {
  const waiting = useBadges();
  return (
    <header className={css.rail}>
      <div className={css.top}>
        <Link to="/" className={css.brand} aria-label="Orgate, home">
          <Logo />
          <span>Orgate</span>
        </Link>
        <Connection />
      </div>
      <nav aria-label="Screens" className={css.rows}>
        <ul>
          {SCREENS.filter(({ nav }) => nav !== "none").map((screen) => (
            <li key={screen.id}>
              <Row screen={screen} isHere={screen.id === at} waiting={waiting[screen.id] ?? 0} />
            </li>
          ))}
        </ul>
      </nav>
      <div className={css.foot}>
        <button type="button" className={css.row} onClick={() => isPaletteOpen.set(true)}>
          <Icon name="search" /> Find <kbd>Ctrl K</kbd>
        </button>
        <ThemeSwitch />
        <Account />
      </div>
    </header>
  );
}

function Row({ screen, isHere, waiting }: Readonly<{ screen: Screen; isHere: boolean; waiting: number }>) {
  return (
    <Link to={screen.paths[0]} className={css.row} aria-current={isHere ? "page" : undefined}>
      <Icon name={screen.icon} />
      <span className={css.name}>{screen.title}</span>
      <Count of={waiting} />
    </Link>
  );
}

function Count({ of }: Readonly<{ of: number }>) {
  if (of === 0) return null;
  return (
    <span className={css.count}>
      {of > 99 ? "99+" : of}
      <span className="unseen"> waiting</span>
    </span>
  );
}

/** The bar of a phone: the first screens, and the rest under More. */
export function Bar({ at }: At) {
  const waiting = useBadges();
  const rest = SCREENS.filter(({ nav }) => nav === "rest");
  return (
    <nav aria-label="Screens" className={css.bar}>
      {SCREENS.filter(({ nav }) => nav === "first").map((screen) => (
        <Row key={screen.id} screen={screen} isHere={screen.id === at} waiting={waiting[screen.id] ?? 0} />
      ))}
      <Menu.Root>
        <Menu.Trigger className={css.row ?? ""} aria-current={rest.some(({ id }) => id === at) ? "page" : undefined}>
          <Icon name="more" />
          <span className={css.name}>More</span>
          <Count of={rest.reduce((sum, { id }) => sum + (waiting[id] ?? 0), 0)} />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className={css.over ?? ""} side="top" align="end" sideOffset={6}>
            <Menu.Popup className={css.menu ?? ""}>
              {rest.map(({ id, paths, title, icon }) => (
                <Menu.Item key={id} className={css.item ?? ""} onClick={() => navigate(paths[0])}>
                  <Icon name={icon} /> {title} <Count of={waiting[id] ?? 0} />
                </Menu.Item>
              ))}
              <MenuChoices />
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
    </nav>
  );
}

function MenuChoices() {
  const now = useCell(theme);
  const leave = useLeave();
  return (
    <>
      <Menu.Item className={css.item ?? ""} closeOnClick={false} onClick={() => theme.set(nextTheme(now))}>
        <Icon name={now} /> Colours: {now}
      </Menu.Item>
      <Menu.Item className={css.item ?? ""} onClick={() => isPaletteOpen.set(true)}>
        <Icon name="search" /> Find
      </Menu.Item>
      <Menu.Item className={css.item ?? ""} onClick={leave}>
        <Icon name="person" /> Sign out
      </Menu.Item>
    </>
  );
}

function ThemeSwitch() {
  const now = useCell(theme);
  return (
    <button type="button" className={css.row} onClick={() => theme.set(nextTheme(now))}>
      <Icon name={now} /> Colours: {now}
    </button>
  );
}

function useLeave(): () => void {
  const hub = useHub();
  return () =>
    void signOut().then((problem) => {
      if (problem !== null) toastProblem("You are still signed in", problem);
      else {
        unsentTexts.clear();
        hub.leave();
      }
    });
}

function Account() {
  const hub = useHub();
  const who = useCell(hub.who);
  const leave = useLeave();
  if (who.kind !== "in") return null;
  const name = who.me.principal.id;
  return (
    <Menu.Root>
      <Menu.Trigger className={css.row ?? ""}>
        <Icon name="person" />
        <span className={css.name}>{name}</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner className={css.over ?? ""} side="top" align="start" sideOffset={6}>
          <Menu.Popup className={css.menu ?? ""}>
            <Menu.Item className={css.item ?? ""} onClick={() => isHelpOpen.set(true)}>
              <Icon name="guide" /> Keyboard shortcuts
            </Menu.Item>
            <Menu.Item className={css.item ?? ""} onClick={() => window.open("/docs", "_blank", "noopener")}>
              <Icon name="journal" /> The API
            </Menu.Item>
            <Menu.Item className={css.item ?? ""} onClick={leave}>
              <Icon name="close" /> Sign out
            </Menu.Item>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}
