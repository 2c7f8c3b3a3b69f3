import { Page } from "../../parts/Page.tsx";
import { Empty } from "../../parts/States.tsx";

export default function Approvals() {
  return (
    <Page title="Approvals">
      <Empty icon="wait" title="Being built" />
    </Page>
  );
}
