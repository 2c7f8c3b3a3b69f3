/**
 * The frame around every screen.
 * O-1 whoever is not signed in sees the sign-in, at whatever address they are, and goes on there once they are.
 * A screen that fails to draw says so in its place, and so does one that cannot be loaded; navigation, connection and the other screens go on.
 */
import { CSPProvider } from "@base-ui/react/csp-provider";
import { type ComponentType, lazy, Suspense, useEffect } from "react";
import type { Hub } from "../link/hub.ts";
import { HubContext } from "../link/use.ts";
import { Link } from "../parts/Link.tsx";
import { Page } from "../parts/Page.tsx";
import { Empty, Loading } from "../parts/States.tsx";
import { Toasts } from "../parts/Toasts.tsx";
import { navigate, useLocation } from "../routing/router.ts";
import { findScreen, HOME, SCREENS, type ScreenProps } from "../screens/index.ts";
import { OverviewContext, useOverview } from "../screens/overview.ts";
import { SignIn } from "../screens/SignIn.tsx";
import { useCell } from "../state/cell.ts";
import { listenToKeys } from "../state/shortcuts.ts";
import css from "./App.module.css";
import { ErrorBoundary } from "./ErrorBoundary.tsx";
import { HaltBanner } from "./Halted.tsx";
import { Help } from "./Help.tsx";
import { withLoadError } from "./loading.ts";
import { Bar, Rail } from "./Navigation.tsx";
import { Palette } from "./Palette.tsx";

const LOADED: Readonly<Record<string, ComponentType<ScreenProps>>> = Object.fromEntries(
  SCREENS.map(({ id, load }) => [id, lazy(withLoadError(load))]),
);

export function App({ hub }: Readonly<{ hub: Hub }>) {
  const who = useCell(hub.who);
  useEffect(listenToKeys, []);
  useEffect(() => {
    if (location.pathname !== "/sign-in") void hub.begin();
  }, [hub]);
  return (
    <CSPProvider disableStyleElements>
      <HubContext value={hub}>
        {who.kind === "in" ? <Frame /> : <SignIn who={who} />}
        <Toasts />
      </HubContext>
    </CSPProvider>
  );
}

function Frame() {
  const { path, query } = useLocation();
  const isHome = path === "/" || path === "/sign-in";
  useEffect(() => {
    if (isHome) navigate(HOME, { replace: true });
  }, [isHome]);
  const found = findScreen(path);
  const Screen = found === null ? undefined : LOADED[found.screen.id];
  const glance = useOverview();
  return (
    <OverviewContext value={glance}>
      <div className={css.frame}>
        <a className={css.skip} href="#main">
          Skip to the screen
        </a>
        <Rail at={found?.screen.id ?? null} />
        <div className={css.column}>
          <HaltBanner />
          <main id="main" className={css.main} tabIndex={-1}>
            <ErrorBoundary key={found?.screen.id ?? ""} at={path}>
              <Suspense fallback={<Loading />}>
                {found === null || Screen === undefined ? (
                  isHome ? null : (
                    <Nowhere />
                  )
                ) : (
                  <Screen params={found.params} query={new URLSearchParams(query)} />
                )}
              </Suspense>
            </ErrorBoundary>
          </main>
        </div>
        <Bar at={found?.screen.id ?? null} />
        <Palette />
        <Help />
      </div>
    </OverviewContext>
  );
}

function Nowhere() {
  return (
    <Page title="Not here">
      <Empty icon="link" title="There is nothing at this address">
        <p>
          It may have been mistyped, or be of another version of the console. <Link to={HOME}>Go to Chat</Link>.
        </p>
      </Empty>
    </Page>
  );
}
