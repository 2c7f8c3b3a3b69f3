import { Page } from "../../parts/Page.tsx";
import { Empty } from "../../parts/States.tsx";

export default function Guide() {
  return (
    <Page title="First run">
      <Empty icon="wait" title="Being built" />
    </Page>
  );
}
