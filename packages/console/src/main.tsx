import "./without-eval.ts"; // first

import { principalName } from "@orgate/core/vocab";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app/App.tsx";
import { createHub } from "./link/hub.ts";
import { applyTheme } from "./state/preferences.ts";
import { unsentTexts } from "./state/unsent.ts";
import "./tokens.css";
import "./ground.css";

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root");
applyTheme();
createRoot(root).render(
  <StrictMode>
    <App hub={createHub(undefined, ({ principal }) => unsentTexts.belongTo(principalName(principal)))} />
  </StrictMode>,
);
