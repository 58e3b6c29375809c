/** One of a closed set of words, as commands take it. */
import { DormouseError } from "../core/errors.ts";

/** @param what the option or place that holds the word. @throws DormouseError `usage`, listing the words */
export function readChoice<W extends string>(what: string, text: string, words: readonly W[]): W {
  const word = words.find((known) => known === text);
  if (word === undefined) throw new DormouseError("usage", `${what} must be one of ${words.join(", ")}`);
  return word;
}
