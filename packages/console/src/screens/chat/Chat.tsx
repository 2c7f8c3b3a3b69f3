import { Page } from "../../parts/Page.tsx";
import { Empty } from "../../parts/States.tsx";

export default function Chat() {
  return (
    <Page title="Chat">
      <Empty icon="wait" title="Being built" />
    </Page>
  );
}
