/** Makes the model of every agent that names `house/…`; all others are found as usual. */
import { definePorts, type Model } from "orgate";

const shouting: Model = {
  id: "house/shouting",
  async ask({ messages }) {
    const last = messages.at(-1);
    const text = last?.role === "user" ? `${last.text.toUpperCase()}!` : "?";
    return {
      parts: [{ kind: "text", text, meta: null }],
      finish: "stop",
      usage: { input: 1, output: 1 },
      model: "house/shouting",
      meta: null,
    };
  },
};

export default definePorts({ model: ({ model }) => (model.startsWith("house/") ? shouting : null) });
