import { join } from "node:path";
import { defineTool, folderFiles } from "orgate";
import * as z from "zod";

const desk = folderFiles({ root: join(import.meta.dirname, ".."), folder: "desk" });
/** Examples: they only write a line into a file. Put your own mail, calendar and bank here; the definitions are what matters. */
const note = (file: string, line: string) => desk.append(file, `${line}\n`);

/** Strangers write what stands in it: untrusted, as every output is unless its definition says otherwise. */
export const readInbox = defineTool({
  name: "read_inbox",
  description: "Reads the person's mail.",
  input: z.strictObject({}),
  effects: ["read"],
  repeat: "read",
  run: () => desk.read("inbox"),
});

export const sendMail = defineTool({
  name: "send_mail",
  description: "Sends a mail for the person.",
  input: z.strictObject({ to: z.email(), text: z.string() }),
  effects: ["network"],
  // Whom it is sent to is a target: policies know whether the user named them, and whether they are known.
  targets: { to: "recipient" },
  // What leaves: policies know which links and addresses stand in it.
  outgoing: ["text"],
  // Who was written to once is known from then on.
  learns: [{ set: "people", from: "to" }],
  resource: ({ to }) => ({ type: "Host", id: to.slice(to.indexOf("@") + 1) }),
  resourceTypes: ["Host"],
  run({ to, text }) {
    note("outbox", `${to}: ${text}`);
    return "sent";
  },
});

/** The person's own calendar: an effect like any other. */
export const addEvent = defineTool({
  name: "add_event",
  description: "Puts an event into the person's calendar.",
  input: z.strictObject({ title: z.string(), day: z.string() }),
  effects: ["write"],
  outgoing: ["title"],
  run({ title, day }) {
    note("calendar", `${day}: ${title}`);
    return "added";
  },
});

export const pay = defineTool({
  name: "pay",
  description: "Pays an amount from the person's account.",
  input: z.strictObject({ account: z.string().regex(/^[A-Z]{2}[A-Z0-9]{13,32}$/), euros: z.int().min(1) }),
  effects: ["spend"],
  // The amount, and whom it is for: `spending.cedar` asks whether the user said it, and counts what one account gets in a day.
  targets: { account: "account", euros: { kind: "number", per: "account" } },
  learns: [{ set: "payees", from: "account" }],
  run({ account, euros }) {
    note("payments", `${euros} to ${account}`);
    return "paid";
  },
});
