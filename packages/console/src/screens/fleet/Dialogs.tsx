import { escapeHidden, escapeHiddenLines } from "@orgate/core/vocab";
import { type Problem, sendMessage } from "@orgate/protocol";
import { useHub, useQuery } from "../../link/use.ts";
import { Facts } from "../../parts/charts/Figures.tsx";
import { Dialog } from "../../parts/forms/Dialog.tsx";
import { Field, Form } from "../../parts/forms/Form.tsx";
import { Failure, Loading } from "../../parts/States.tsx";
import { Tag } from "../../parts/Tag.tsx";
import { PlainText } from "../../parts/text/Markdown.tsx";
import { sessionPath } from "../../routing/addresses.ts";
import { navigate } from "../../routing/router.ts";
import { useUnsentText } from "../../state/unsent.ts";
import css from "./Fleet.module.css";

type Props = Readonly<{ agent: string; open: boolean; onClose(): void }>;

export function RunDialog({ agent, open, onClose }: Props) {
  return (
    <Dialog open={open} onClose={onClose} title={`Start a run of ${agent}`}>
      {open ? <RunForm agent={agent} onClose={onClose} /> : null}
    </Dialog>
  );
}

function RunForm({ agent, onClose }: Omit<Props, "open">) {
  const hub = useHub();
  const [text, setText, drop] = useUnsentText(`run.${agent}`);
  const send = async (): Promise<Problem | null> => {
    const sent = await sendMessage(hub.link, { agent, session: null }, { text });
    if (sent.kind === "problem") return sent.problem;
    drop();
    onClose();
    navigate(sessionPath(sent.value.session));
    return null;
  };
  return (
    <Form send={send} does="Start" icon="send" cancel={onClose}>
      <Field label="What should it do?">
        {(id) => <textarea id={id} rows={5} required value={text} onChange={({ target }) => setText(target.value)} />}
      </Field>
      <p>It runs in a new session, under the policies in force, on your behalf.</p>
    </Form>
  );
}

export function DefinitionDialog({ agent, open, onClose }: Props) {
  return (
    <Dialog open={open} onClose={onClose} title={agent} wide>
      {open ? <Definition agent={agent} /> : null}
    </Dialog>
  );
}

function Definition({ agent }: Readonly<{ agent: string }>) {
  const asked = useQuery("agent", { params: { agent } });
  if (asked.value === null) return asked.problem === null ? <Loading /> : <Failure problem={asked.problem} again={asked.reload} />;
  const { instructions, model, fallbacks, tools, delegates, limits, digest, warnings } = asked.value;
  return (
    <div className={css.form}>
      <Facts
        of={[
          ["Model", escapeHidden([model, ...fallbacks].join(", then "))],
          ["Delegates to", delegates.length === 0 ? "nobody" : delegates.join(", ")],
          [
            "Limits",
            Object.entries(limits)
              .map(([name, value]) => `${name} ${String(value)}`)
              .join(" · "),
          ],
          ["Digest", <code key="d">{digest.slice(0, 16)}</code>],
        ]}
      />
      {warnings.map((warning) => (
        <p key={warning}>
          <Tag tone="wait">warning</Tag> {escapeHidden(warning)}
        </p>
      ))}
      <h3>Instructions</h3>
      <PlainText text={escapeHiddenLines(instructions)} />
      <h3>Tools</h3>
      <ul className={css.tools}>
        {tools.map(({ name, description, repeat, effects }) => (
          <li key={name}>
            <code>{escapeHidden(name)}</code> <Tag>{repeat}</Tag>{" "}
            {effects.map((effect) => (
              <Tag key={effect} tone={effect === "read" ? "observe" : "act"}>
                {effect}
              </Tag>
            ))}
            <p>{escapeHidden(description)}</p>
          </li>
        ))}
      </ul>
    </div>
  );
}
