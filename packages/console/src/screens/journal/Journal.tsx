/**
 * The whole journal: verify it, export it, search its entries.
 * A verification shows its progress and its result, with the head to store elsewhere. Filters are part of the address; the kind is chosen from a grouped
 * list of all kinds.
 * O-9 every entry of every stream has an address.
 */

import { EVENT_KINDS, isSessionStream, streamId } from "@orgate/core/vocab";
import { type OperationOutput, shapes } from "@orgate/protocol";
import { createNarrator, toEntryLine, toPhase } from "@orgate/protocol/view";
import { memo, useEffect } from "react";
import { usePages } from "../../link/pages.ts";
import { useHub, useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Fields, Select, Text } from "../../parts/forms/Fields.tsx";
import { Link } from "../../parts/Link.tsx";
import { PagedList } from "../../parts/lists/PagedList.tsx";
import { Page } from "../../parts/Page.tsx";
import { Empty } from "../../parts/States.tsx";
import { Time } from "../../parts/time/Time.tsx";
import tones from "../../parts/tones.module.css";
import { entryPath, sessionPath } from "../../routing/addresses.ts";
import { setQuery } from "../../routing/router.ts";
import { AgentSelect } from "../AgentSelect.tsx";
import type { ScreenProps } from "../index.ts";
import { Entry } from "./Entry.tsx";
import css from "./Journal.module.css";
import { Verify } from "./Verify.tsx";

const FACETS = ["agent", "tool", "verdict", "policy", "label", "person", "kind"] as const;
const VERDICTS = ["allow", "deny", "ask", "defer", "modify"] as const;
/** All kinds, grouped by their first word. */
const KINDS = [
  { value: "", text: "Any" },
  ...EVENT_KINDS.toSorted().map((kind) => ({ value: kind, text: kind, group: kind.split(".", 1)[0] ?? kind })),
];
type Query = Readonly<{
  limit: number;
  agent?: string;
  tool?: string;
  verdict?: (typeof VERDICTS)[number];
  policy?: string;
  label?: string;
  person?: string;
  kind?: string;
}>;
type Found = OperationOutput<"journalEntries">["items"][number];
const PAGE = 200;

function readQuery(query: URLSearchParams): Query {
  const verdict = VERDICTS.find((one) => one === query.get("verdict"));
  const text = Object.fromEntries(FACETS.flatMap((name) => (name === "verdict" || !query.get(name) ? [] : [[name, query.get(name)]])));
  return { limit: PAGE, ...text, ...(verdict === undefined ? {} : { verdict }) };
}

export default function Journal({ params, query }: ScreenProps) {
  return params.stream === undefined ? <All query={query} /> : <Entry stream={streamId(params.stream)} seq={Number(params.seq)} />;
}

function All({ query }: Pick<ScreenProps, "query">) {
  const asked = readQuery(query);
  const first = useQuery("journalEntries", { query: asked });
  const hub = useHub();
  const pages = usePages({
    first: first.value,
    key: JSON.stringify(asked),
    idOf: ({ position }) => position,
    read: (before) => hub.call("journalEntries", { query: { ...asked, before } }),
    failed: "Older entries could not be read",
  });
  const behind = first.value?.behind ?? 0;
  useEffect(() => {
    if (behind === 0) return;
    const timer = setTimeout(first.reload, 700);
    return () => clearTimeout(timer);
  }, [behind, first.reload]);
  const agents = useQuery("agents", { query: { limit: 500 } });
  const isFiltered = Object.keys(asked).length > 1;
  const tools = [...new Set((agents.value?.items ?? []).flatMap((one) => one.tools))].sort();
  return (
    <Page
      title="Journal"
      lead="Everything that happened, each entry sealed."
      aside={
        <a href="/api/v1/journal/export" download="journal.jsonl">
          Export the journal
        </a>
      }
      fill
    >
      <Verify />
      <Fields label="Find entries" active={Object.keys(asked).length - 1}>
        <AgentSelect agent={query.get("agent") ?? ""} />
        <Select
          label="Verdict"
          value={query.get("verdict") ?? ""}
          choose={(verdict) => setQuery({ verdict })}
          choices={[{ value: "", text: "Any" }, ...VERDICTS.map((value) => ({ value, text: value }))]}
        />
        <Text label="Tool" value={query.get("tool") ?? ""} set={(tool) => setQuery({ tool })} suggestions={tools} />
        <Text label="Policy" value={query.get("policy") ?? ""} set={(policy) => setQuery({ policy })} placeholder="base/write" />
        <Text
          label="Label"
          value={query.get("label") ?? ""}
          set={(label) => setQuery({ label })}
          suggestions={["untrusted", "secret", "pii"]}
        />
        <Text label="Person" value={query.get("person") ?? ""} set={(person) => setQuery({ person })} />
        <Select label="Kind" value={query.get("kind") ?? ""} choose={(kind) => setQuery({ kind })} choices={KINDS} />
        {isFiltered ? <Button onClick={() => setQuery(Object.fromEntries(FACETS.map((name) => [name, null])))}>Show all</Button> : null}
      </Fields>
      {behind > 0 ? (
        <p className={css.behind} role="status">
          {behind} newer entries are being searched…
        </p>
      ) : null}
      <PagedList
        label="Entries"
        asked={first}
        pages={pages}
        idOf={({ position }) => String(position)}
        row={(one) => <Row of={one} />}
        estimate={34}
        more="Load older entries"
        loading="Searching"
      >
        <Empty icon="search" title={isFiltered ? "No entry matches" : "The journal is empty"}>
          <p>
            {isFiltered
              ? "Names must match exactly. Remove a filter to see more."
              : "Its first entries appear when an agent starts to work."}
          </p>
        </Empty>
      </PagedList>
    </Page>
  );
}

const Row = memo(function Row({ of }: Readonly<{ of: Found }>) {
  const line = of.kind === "entry" && shapes.isKnownKind(of.entry) ? toEntryLine(of.entry, createNarrator()(of.entry)) : undefined;
  const kind = of.kind === "entry" ? of.entry.event.kind : of.kind;
  const phase = toPhase(kind);
  const text = line?.text ?? (of.kind === "erased" ? "erased on request" : of.kind === "bad" ? of.detail : kind);
  return (
    <div className={`${css.row} ${phase === null ? "" : tones[phase]} ${css[line?.tone ?? "warn"]}`}>
      <span className={css.when}>
        <Time at={of.at} />
      </span>
      <span className={css.where}>
        {isSessionStream(of.stream) ? (
          <Link to={sessionPath(of.stream, of.seq)}>
            {of.stream} · {of.seq}
          </Link>
        ) : (
          <Link to={entryPath(of.stream, of.seq)}>
            {of.stream} · {of.seq}
          </Link>
        )}
      </span>
      <span className={css.kind}>{kind}</span>
      <span className={css.text} title={text}>
        {text}
      </span>
    </div>
  );
});
