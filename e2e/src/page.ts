/** docs/e2e.md: what is proved with real processes and how, and what came of it the last time. */
export const page = (report: string): string => `# End to end

\`npm run e2e\` runs the short form, which CI runs too; \`npm run e2e -- --long\` runs more of the same and writes its result here. \`--only TEXT\` runs the
suites whose name holds the text. \`--seed N\` makes the random choices of an earlier run again: plans, delays and kill times. The machine's own
timing is not part of it, so a process killed after the same number of milliseconds may be a step further.

## The stand

- A **victim** is a program of its own that uses \`createRuntime\`: an agent with a tool of each repeat class and a scripted run of three iterations
  with two parallel calls each, then an answer. It knows nothing of crashes, and the runtime has no crash hooks.
- A module loaded before it (\`node --import\`) watches SQLite, so that every transaction on the journal can be seen from outside: before it begins,
  right before its COMMIT, right after it. The tools and the model report when they are entered and when they have their answer.
- The **counter** is a process that outlives every victim. What a tool does to the world is what the counter records of it; the model asks it too.
  Victims speak to it synchronously, so its log has all that a victim did before it died, in order. At each effect it looks into the
  journal by itself: is the \`allow\` there, and the \`act.started\`?
- A **desk** is a project on disk with Cedar policies. Its processes are the real command line (\`orgate run\`, \`approvals\`, \`halt\`, …), loaded
  with the same watcher, so that they can be stopped and killed at any point too; its tools are known to the counter.
- The **runner** starts victims, kills them where or when it wants, lets a fresh process resume, and checks. A victim that never reaches its point
  fails the run.

## What must hold

No effect without a durable \`allow\` and \`act.started\`; no \`once\` and no \`reconcile\` effect twice; a repeat has the same key; no recorded model reply
requested again, no model call attempted more than three times; one \`turn.ended\`; sequences without gaps; one observation per call, in order; nothing
said to be done that never took effect; nothing gone that was committed; the journal verifies. Of people: a question is answered once, an answer is
used once and in the very commit that starts what it was for, a grant is given once.

## The suites

1. **Every point.** Killed at each point of the run: around every transaction, and inside every call and model call, also while the call beside it
   goes on. Then the first process of a new project, around the certificates of its keys. Then processes that resume are killed as well.
2. **Random moments.** Each process resumes what the one before it left, starts a session of its own, and is killed in the midst of it. Where a kill
   fell is read from the last thing the process said. A window that lags behind is aimed at; fewer than 20 kills in one of the four fail the run.
3. **Broken builds.** Sources changed while they are loaded: the append after the effect, \`once\` taken for repeatable, a reply forgotten, an answer
   not used up, time-outs by the time of reading, a grant forgotten in a crash. Of due times: the session in a commit
   before its \`schedule.fired\`, or in one after it; what another process fired not remembered, with the due time still claimed and with neither.
   The same checks have to find each of them out.
4. **SIGSTOP.** A stopped holder keeps its session; a wish waits in the inbox and is taken when the holder goes on. Killed, it frees the session at once.
5. **Neighbours.** Two processes on one project; one is killed, also inside a transaction while the other wants to write.
6. **A full disk**, on a small file system of its own where one may be mounted, and with a database that may not grow.
7. **Answers by the command line.** Parked and killed around the commit that asks, then approved by a fresh process: while nobody holds the session,
   while another process does, while a stopped one does that is then killed. Two questions of one reply, in the other order and at the same moment;
   one question and two people. A question that expires while no process runs; an answer put in time and read late; one put too late.
8. **Crashes around an answer.** Whoever takes an answer is killed at every point of it: the process that answered and took the session up, and
   the process that held it. The same around an answer with a grant, which whoever comes next gives. A grant revoked while another process runs.
9. **The kill switch.** 20 sessions in three processes, some in calls that are groups of real processes, some in one short call after another, some in a
   model call; one more whose process was killed before. \`orgate halt all\` from another process: by the order of commits in the database nothing
   starts and no model is asked after it, no process of those groups is left in /proc, every turn has ended \`halted\`; a restarted process, taking up the
   killed one's session and beginning one of its own, starts nothing until \`orgate resume-work\`. A build without the check in the commit is found out.
10. **Ten thousand parked sessions**, against ten. A fresh process has the same memory (medians, within 5 MB, without the runtime's own threads);
    opening, listing, showing and answering run the same statements as often and get as many rows, and SQLite's plan of none of them scans a table
    that grows. \`orgate halt\` looks at every parked session to say whom it reached: told here, not judged.
11. **What happens by itself.** A server that fires is killed before and after the commit of its firing, once the model was asked, and before it tells
    that the turn is over: another comes, and the due time is one session with one turn. A night without a server, then two at once. A delivery
    whose server dies before or after it is durable, and that is sent again.
12. **Delegates**, killed at any point with those they work for; their questions are answered by a process that never saw their parent.
13. **Failures.** A breaker that other processes see and a restart keeps; a retry that a kill does not double.
14. **A fresh project**, as \`orgate init\` makes it, with no key: it runs, a policy that is edited denies the same run, and what a stranger sends
    does not do what its owner may have done.
15. **The console** in a real browser: its flows, what is shown live, every screen photographed.

Seen by a holder and not by the commit: a revoked grant. A process that is driving looks at standing orders every 50 ms, so that a call which it
starts within that time may still use the grant; halts are checked in the commit itself, and have no such gap.

What a kill cannot show: whether bytes survive a loss of power. That is SQLite's \`synchronous = FULL\`, and the disk's word.

## The last run on record

\`\`\`
${report}
\`\`\`
`;
