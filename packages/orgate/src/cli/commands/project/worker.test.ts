import { workerCases } from "../fixtures/worker-cases.ts";

workerCases(() => ({ settings: "", env: {} }));
