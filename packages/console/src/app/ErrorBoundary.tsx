/** Stops what a screen throws: React has no other form for this than a class. */
import { Component, type ReactNode } from "react";
import { Button } from "../parts/Button.tsx";
import { Page } from "../parts/Page.tsx";
import { Empty } from "../parts/States.tsx";
import { NOT_LOADED, reloadPage } from "./loading.ts";

/** `at`: another place is tried anew. */
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
              It did not arrive, or the server has another version of the console by now. Load the page again: you come back here, and what
              you had begun to write is kept.
            </p>
          ) : (
            <>
              <p>{error.message}</p>
              <p>Nothing was changed on the server. What you had begun to write is kept.</p>
            </>
          )}
          <Button tone="first" onClick={() => void reloadPage()}>
            Load the page again
          </Button>
        </Empty>
      </Page>
    );
  }
}
