/** Stops what a screen throws: React has no other form for this than a class. */
import { Component, type ReactNode } from "react";
import { Button } from "../parts/Button.tsx";
import { Page } from "../parts/Page.tsx";
import { Empty } from "../parts/States.tsx";

/** `at`: another place is tried anew. */
type Props = Readonly<{ at: string; children: ReactNode }>;
type State = Readonly<{ error: Error | null }>;

export class Fence extends Component<Props, State> {
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
          <p>{error.message}</p>
          <p>Nothing was changed on the server. If the console has been updated since this page was opened, load it again.</p>
          <Button tone="first" onClick={() => location.reload()}>
            Load the page again
          </Button>
        </Empty>
      </Page>
    );
  }
}
