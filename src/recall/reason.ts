/** Why somebody did something, in their own words: what is taken and what is refused. */
import { DormouseError } from "../core/errors.ts";
import { isBlank } from "../text/normalise.ts";

/** Longest reason, in UTF-16 code units. */
const MAX_REASON_LENGTH = 2_000;

/** The reason as given. @throws DormouseError `usage` for an empty one, `too_long` */
export function checkReason<Reason extends string | undefined>(reason: Reason): Reason {
  if (reason === undefined) return reason;
  if (isBlank(reason)) {
    throw new DormouseError("usage", "a reason is needed", { hint: 'For instance --reason "out of date".' });
  }
  if (reason.length > MAX_REASON_LENGTH) {
    throw new DormouseError("too_long", `reason: ${MAX_REASON_LENGTH} characters at most`);
  }
  return reason;
}
