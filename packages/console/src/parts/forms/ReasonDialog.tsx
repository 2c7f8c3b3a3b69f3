/** A dialog that asks for a reason before an action. W-18: the console never makes up a reason for a person. */
import type { Problem } from "@orgate/protocol";
import { type ReactNode, useState } from "react";
import { Dialog } from "./Dialog.tsx";
import { Field, Form } from "./Form.tsx";

type Props = Readonly<{
  title: string;
  does: string;
  tone?: "first" | "bad";
  /** The reason may be left out, as on the command line. */
  optional?: boolean;
  /** Null on success; then the dialog closes. */
  send(reason: string): Promise<Problem | null>;
  close(): void;
  children: ReactNode;
}>;

export function ReasonDialog({ title, does, tone = "first", optional = false, send, close, children }: Props) {
  const [reason, setReason] = useState("");
  const sent = async (): Promise<Problem | null> => {
    const problem = await send(reason.trim());
    if (problem === null) close();
    return problem;
  };
  return (
    <Dialog open onClose={close} title={title}>
      <Form send={sent} does={does} tone={tone} cancel={close}>
        {children}
        <Field label={optional ? "Why (kept in the journal)" : "Why (required, kept in the journal)"}>
          {(id) => (
            <input
              id={id}
              value={reason}
              required={!optional}
              {...(optional ? {} : { pattern: ".*\\S.*" })}
              maxLength={2_000}
              onChange={({ target }) => setReason(target.value)}
            />
          )}
        </Field>
      </Form>
    </Dialog>
  );
}
