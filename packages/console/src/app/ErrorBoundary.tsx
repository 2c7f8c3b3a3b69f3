/** Shows an error in place of a screen that threw. React supports this only in a class. */
import { Component, type ReactNode } from "react";
import { Button } from "../parts/Button.tsx";
import { Page } from "../parts/Page.tsx";
import { Empty } from "../parts/States.tsx";
import { NOT_LOADED, reloadPage } from "./loading.ts";

/** `at`: a new address clears the error. */
type Props = Readonly<{ at: string; children: ReactNode }>;
type State = Readonly<{ error: Error | null }>;

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidUpdate(before: Props): void {
    if (before.at !== this.props.at && this.state.error !== null) this.setState({ error: null });
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <Page title="Something went wrong">
        <Empty icon="warning" title="This screen could not be shown">
          {error.message === NOT_LOADED ? (
            <p>
              It did not arrive, or the server has another version of the console. Reload the page: you come back here, and unsent text is
              kept.
            </p>
          ) : (
            <>
              <p>{error.message}</p>
              <p>Nothing was changed on the server. Unsent text is kept.</p>
            </>
          )}
          <Button tone="first" onClick={() => void reloadPage()}>
            Reload the page
          </Button>
        </Empty>
      </Page>
    );
  }
}
