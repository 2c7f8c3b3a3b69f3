/** The schedules of a project, put together for whoever has its journal: the command line to look and to change, the server to fire. */

import { type Gate, millis } from "@orgate/core";
import { sha256 } from "../node/crypto.ts";
import { mayNotRunOf } from "../runtime/people/may-run.ts";
import { NODE } from "../runtime/ports/outside.ts";
import type { OpenProjectStore } from "../runtime/ports/project-store.ts";
import { openCalendar } from "./calendar.ts";
import { ProjectSchedules } from "./project-schedules.ts";
import { type Beginning, type Clockwork, type ClockworkPorts, openClockwork } from "./scheduler.ts";
import { type Book, openBook } from "./store.ts";

export type Schedules = Readonly<{ book: Book; desk: ProjectSchedules; clockwork: Clockwork }>;

export type SchedulesNeed = Readonly<{
  place: Pick<OpenProjectStore, "keyring" | "orders" | "store">;
  gate: Gate;
  beginning: Beginning;
  wake?: ClockworkPorts["wake"];
  failed?: ClockworkPorts["failed"];
}>;

/** One for each journal that is open: what one has read the others need not read again. */
export function bookOf(place: Pick<OpenProjectStore, "store">): Book {
  const { journal } = place.store;
  const book = books.get(journal) ?? openBook({ journal, now: () => millis(Date.now()) });
  books.set(journal, book);
  return book;
}
const books = new WeakMap<object, Book>();

export function openSchedules({ place, gate, beginning, wake = () => {}, failed = () => {} }: SchedulesNeed): Schedules {
  const { journal, holder } = place.store;
  const calendar = openCalendar();
  const now = () => millis(Date.now());
  const book = bookOf(place);
  const shared = { book, journal, calendar, now, beginning, newSession: NODE.ids.session, sign: place.keyring.signAsWriter };
  const clockwork = openClockwork({
    ...shared,
    hash: sha256,
    timer: (ms, then) => {
      const timer = setTimeout(then, ms);
      timer.unref();
      return () => clearTimeout(timer);
    },
    mayNotRun: mayNotRunOf(gate),
    wake,
    isHeld: (session) => holder(session) !== null,
    failed,
  });
  return { book, clockwork, desk: new ProjectSchedules({ ...shared, place, gate }) };
}
