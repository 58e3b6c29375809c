/** The check of a count that a caller gives. */
import { DormouseError } from "./errors.ts";

/**
 * Refuses anything but a whole number from 1 to `most`.
 * @param what the number's name, as the message begins
 * @throws DormouseError `usage`
 */
export function checkCount(what: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new DormouseError("usage", `${what} must be a whole number from 1 to ${most}`);
}
