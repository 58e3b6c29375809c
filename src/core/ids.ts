/**
 * Public ids: 80 random bits in Crockford base32 behind a prefix that tells the role. They are stable,
 * carry no order and no words, and are the only ids that may leave the store or enter the ledger.
 */
import { DormouseError } from "./errors.ts";
import { freshBytes } from "./random.ts";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const BYTES = 10;
const PREFIXES = { thought: "n_", source: "s_", label: "l_" } as const;

/** Ten random bytes: the stored form of a public id. */
export function randomId(): Buffer {
  return freshBytes(BYTES);
}

/** `n_…` for thoughts, `s_…` for sources, `l_…` for labels. */
export function formatId(kind: keyof typeof PREFIXES, bytes: Uint8Array): string {
  let text: string = PREFIXES[kind];
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(value >>> bits) & 31];
    }
    value &= (1 << bits) - 1;
  }
  return text;
}

/**
 * The ten bytes behind `n_…` or `s_…`. Capital letters and the look-alikes o, i, l are accepted.
 * @throws DormouseError `usage` when the text is no node id.
 */
export function parseNodeId(text: string): Buffer {
  const match = /^[ns]_([0-9a-tv-z]{16})$/i.exec(text.trim());
  // What stands where an id should may be a thought's words: the text is never repeated.
  if (match?.[1] === undefined) {
    throw new DormouseError("usage", "that is not a node id", {
      hint:
        "Ids look like n_ or s_ and 16 letters and digits. `dormouse search` and `dormouse list` print those of " +
        "thoughts, `dormouse source list` those of sources.",
    });
  }
  const digits = match[1].toLowerCase().replaceAll("o", "0").replaceAll("i", "1").replaceAll("l", "1");
  const bytes = Buffer.alloc(BYTES);
  let bits = 0;
  let value = 0;
  let at = 0;
  for (const digit of digits) {
    value = (value << 5) | ALPHABET.indexOf(digit);
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (value >>> bits) & 255;
      value &= (1 << bits) - 1;
    }
  }
  return bytes;
}

/** `e_12` for the event with sequence number 12 of the current ledger. */
export function formatEventId(seq: number): string {
  return `e_${seq}`;
}

/** @throws DormouseError `usage` when the text is no event id. */
export function parseEventId(text: string): number {
  const match = /^(?:e_)?(\d{1,15})$/.exec(text.trim());
  if (match?.[1] === undefined) {
    throw new DormouseError("usage", "that is not an event id", {
      hint: "Event ids look like e_12; `dormouse ledger` prints them.",
    });
  }
  return Number(match[1]);
}
