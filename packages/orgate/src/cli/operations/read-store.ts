/** Reads operators' lists from the journal: neither agents nor policies are loaded, so they can be read while a project does not load. */
import { join, resolve } from "node:path";
import { isFault, millis } from "@orgate/core";
import type { Journal } from "@orgate/core/journal";
import type { Given } from "@orgate/shell/terminal";
import type { Config } from "../../config/config.ts";
import { findProject } from "../../config/project-toml.ts";
import { approvalReaders } from "../../operations/handlers/people.ts";
import { workReaders } from "../../operations/handlers/work.ts";
import { cursors } from "../../operations/paging.ts";
import { openOwners } from "../../operations/visibility.ts";
import { readOrdersInForce } from "../../runtime/people/approvals.ts";
import { readBreakers } from "../../runtime/people/breakers.ts";
import { hasJournal } from "../../store/journal.ts";
import { openReadOnlyStore } from "../../store/open-read-only.ts";
import { hasRun, openGivenProject } from "../commands/project/read-only.ts";
import type { LocalRead } from "./local-reads.ts";
import { readWith } from "./read-with.ts";

export const readStore: LocalRead = async (given, _screen, work) => {
  const place = configIfAny(given).journal;
  const look = hasRun(place) ? await openReadOnlyStore(place) : null;
  try {
    return await work(readWith(readersOf(look?.journal ?? NOTHING), () => true));
  } finally {
    await look?.close();
  }
};

type Stored = Pick<Journal, "read" | "streams" | "session" | "questions" | "deadLetters">;
const NOTHING: Stored = {
  read: async () => [],
  streams: async () => [],
  session: async () => null,
  questions: async () => [],
  deadLetters: async () => [],
};

function readersOf(journal: Stored) {
  const now = () => millis(Date.now());
  const shared = { cursors: cursors(), whose: openOwners(journal) };
  return {
    ...workReaders({
      ...shared,
      agents: [],
      breakers: { list: () => readBreakers(journal, now()) },
      halts: async () => (await readOrdersInForce(journal, now())).halts,
    }),
    ...approvalReaders({
      ...shared,
      inspect: { session: (session) => journal.session(session) },
      approvals: {
        list: (page) => journal.questions({ after: 0, most: 100, ...page }),
        grants: async () => (await readOrdersInForce(journal, now())).grants,
      },
      deadLetters: { list: (page) => journal.deadLetters({ after: 0, most: 100, ...page }) },
    }),
  };
}

/** A project whose `orgate.toml` cannot be read still has its journal in the usual folder. */
export function configIfAny(given: Given): Config | (Pick<Config, "journal"> & Readonly<{ undecided: string }>) {
  try {
    return openGivenProject(given);
  } catch (error) {
    if (!isFault(error, "file-bad")) throw error;
    const root = given.project === null ? findProject(given.cwd) : resolve(given.cwd, given.project);
    const directory = join(root, ".orgate");
    if (!hasJournal(directory)) throw error;
    return {
      journal: { directory, powerCut: "lose-nothing", sealing: "interval", cluster: null },
      undecided: `${error.message}; the journal in \`${directory}\` was taken`,
    };
  }
}
