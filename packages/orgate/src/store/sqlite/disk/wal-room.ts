/**
 * Room in the WAL before it is needed. While the file grows, each flush also writes the file system's own records, which nearly doubles what it takes; SQLite
 * keeps the file until the last connection closes, so zeros written once spare that for good. SQLite takes zeros after the last frame for the end of the WAL.
 */
import { closeSync, fstatSync, openSync, writeSync } from "node:fs";

/** What a WAL grows to between two checkpoints: 1,000 frames of a page and its header, and a little more. */
const ROOM_BYTES = 32 + 1_024 * (4_096 + 24);
const CHUNK = new Uint8Array(64 * 1_024);

/**
 * Call it only while holding the database's write lock: another process could otherwise append a frame where zeros are about to be written. An empty WAL is
 * left alone: its first bytes say that it is one.
 */
export function makeWalRoom(database: string): void {
  let file: number | null = null;
  try {
    file = openSync(`${database}-wal`, "r+");
    let { size } = fstatSync(file);
    if (size === 0) return;
    while (size < ROOM_BYTES) size += writeSync(file, CHUNK, 0, Math.min(CHUNK.length, ROOM_BYTES - size), size);
  } catch {
    // a disk without that much room: the WAL grows as it is used, as it would have anyway
  } finally {
    if (file !== null) closeSync(file);
  }
}
