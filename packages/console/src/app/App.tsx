/**
 * The frame around every screen.
 * O-1 a person who is not signed in sees the sign-in at any address, and continues at that address afterwards.
 * A screen that throws or cannot be loaded shows an error in its place; navigation, connection and the other screens keep working.
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
import { HaltBanner } from "./HaltBanner.tsx";
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
    <Page title="Not found">
      <Empty icon="link" title="There is nothing at this address">
        <p>
          It may be mistyped, or belong to another version of the console. <Link to={HOME}>Go to Chat</Link>.
        </p>
      </Empty>
    </Page>
  );
}
