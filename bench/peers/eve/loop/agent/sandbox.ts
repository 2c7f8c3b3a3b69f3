import { defineSandbox } from "eve/sandbox";
import { JustBashSandbox } from "eve/sandbox/just-bash";

// Named, because the default picks one that is not installed here, and then the build fails.
export const environment = JustBashSandbox.environment();
export default defineSandbox(() => environment.open());
