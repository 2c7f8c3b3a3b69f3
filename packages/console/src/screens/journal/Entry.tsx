/**
 * One entry of any stream: of a session, a halt, a grant, a schedule or a policy set.
 * O-9 as it is stored, with its hash, at an address that can be sent to somebody.
 */
import { escapeHidden, isSessionStream, type SessionId, type StreamId } from "@orgate/core/vocab";
import { useQuery } from "../../link/use.ts";
import { Button } from "../../parts/Button.tsx";
import { Link } from "../../parts/Link.tsx";
import { Page } from "../../parts/Page.tsx";
import { Failure, Loading } from "../../parts/States.tsx";
import { StoredEntry } from "../../parts/StoredEntry.tsx";
import { entryPath, policySetPath, sessionPath } from "../../routing/addresses.ts";
import { toast } from "../../state/toasts.ts";

/** Leave for a call or a request is part of the entry that begins it. */
const HOLDS_DECISION = /^(gate\.decided|act\.started|model\.asked)(@|$)/;

export function Entry({ stream, seq }: Readonly<{ stream: StreamId; seq: number }>) {
  const asked = useQuery("journalEntry", { params: { stream, seq } });
  const stored = asked.value;
  return (
    <Page
      title={`${escapeHidden(stream)} · ${seq}`}
      lead={
        <>
          <Link to="/journal">The journal</Link>
          {seq > 1 ? <Link to={entryPath(stream, seq - 1)}>Previous entry</Link> : null}
          {stored !== null ? <Link to={entryPath(stream, seq + 1)}>Next entry</Link> : null}
          {isSessionStream(stream) && stored !== null ? <Link to={sessionPath(stream, stored.seq)}>In its session</Link> : null}
        </>
      }
      aside={
        stored === null ? undefined : (
          <>
            <Button onClick={() => void copyText("The link", location.href)}>Copy the link</Button>
            <Button onClick={() => void copyText("The hash", stored.entryHash)}>Copy the hash</Button>
          </>
        )
      }
    >
      {stored !== null ? (
        <>
          {isSessionStream(stream) && HOLDS_DECISION.test(stored.kind) ? <PoliciesThen session={stream} seq={seq} /> : null}
          <StoredEntry of={stored} />
        </>
      ) : asked.problem !== null ? (
        <Failure problem={asked.problem} again={asked.reload} />
      ) : (
        <Loading what="Reading the entry" />
      )}
    </Page>
  );
}

/** Links to the policies that a decision was made under. */
function PoliciesThen({ session, seq }: Readonly<{ session: SessionId; seq: number }>) {
  const { digest = null, files = null } = useQuery("entryPolicies", { params: { session, seq } }).value ?? {};
  return digest === null ? null : (
    <p>
      Decided under the policies <Link to={policySetPath(files ?? digest)}>{digest.slice(0, 12)}</Link>: their texts at the time, and the
      difference to now.
    </p>
  );
}

async function copyText(what: string, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast({ tone: "ok", title: `${what} is copied`, detail: text });
  } catch {
    toast({ tone: "bad", title: `${what} was not copied`, detail: `the browser does not allow it; it reads ${text}` });
  }
}
