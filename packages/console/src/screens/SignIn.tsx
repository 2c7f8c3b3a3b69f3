/**
 * Signing in with a one-time link. Its secret stands behind `#`; this screen sends it at once and removes it from the address.
 * O-1 a used, expired or malformed link says so and what to do; the secret is neither kept nor shown again.
 */
import { type FormEvent, useEffect, useRef, useState } from "react";
import { signIn } from "../link/browser.ts";
import type { SignedIn } from "../link/hub.ts";
import { useHub } from "../link/use.ts";
import { Button } from "../parts/Button.tsx";
import { Logo } from "../parts/Logo.tsx";
import { Loading, Sentence, sentence } from "../parts/States.tsx";
import css from "./SignIn.module.css";

/** O-7. */
const BACK = "Sign in again with a new link: you come back to where you were, and unsent text is kept.";

export function SignIn({ who }: Readonly<{ who: SignedIn }>) {
  const hub = useHub();
  const [said, setSaid] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const isTried = useRef(false);

  const enter = async (link: string): Promise<void> => {
    setBusy(true);
    const problem = await signIn(link);
    if (problem === null) await hub.begin();
    else setSaid(`${sentence(problem.detail)} ${sentence(problem.hint)}`);
    setBusy(false);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, with the address that the page was opened with
  useEffect(() => {
    if (isTried.current || location.pathname !== "/sign-in") return;
    isTried.current = true;
    const link = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    if (link === "") void hub.begin();
    else void enter(link);
  }, []);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const link = field.current?.value ?? "";
    if (field.current !== null) field.current.value = "";
    if (link.trim() !== "") void enter(link);
  };

  if (who.kind === "finding-out" && said === null) return <Loading what="Signing in" />;
  const ended =
    who.kind === "out" && who.problem !== null ? `${sentence(who.problem.detail)} ${who.wasIn ? BACK : sentence(who.problem.hint)}` : null;
  return (
    <main className={css.page}>
      <form className={css.box} onSubmit={submit}>
        <div className={css.brand}>
          <Logo />
          <h1>Orgate</h1>
        </div>
        <p role="status" className={said === null && ended === null ? "" : css.said}>
          <Sentence text={said ?? ended ?? "Open the link that the server printed when it started, or paste it here. It works once."} />
        </p>
        <label htmlFor="link">Sign-in link</label>
        <input id="link" ref={field} type="password" autoComplete="off" spellCheck={false} required />
        <Button type="submit" tone="first" busy={isBusy}>
          Sign in
        </Button>
        <p className={css.hint}>
          No link? Run <code>orgate keys create NAME --link</code> in the project, on the server's machine.
        </p>
      </form>
    </main>
  );
}
