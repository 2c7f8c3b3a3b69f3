/** Salts of entries, so that a payload cannot be guessed from its hash once it is erased. */
import { randomBytes } from "node:crypto";

/** 128 random bits each, fetched many at a time. */
export function saltSource(): () => string {
  let pool = "";
  let at = 0;
  return () => {
    if (at >= pool.length) {
      pool = randomBytes(4_096).toString("hex");
      at = 0;
    }
    at += 32;
    return pool.slice(at - 32, at);
  };
}
