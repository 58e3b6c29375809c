/**
 * Keyed digests: what lets the store find a value, a source or a record again without keeping its words
 * in any index. The key is the brain's own, so digests of two brains never match.
 */
import { createHash, createHmac } from "node:crypto";

/** Bytes kept of each digest. */
const DIGEST_BYTES = 16;

/** Domains of use; a digest of one never equals a digest of another. */
export type DigestPurpose = "value" | "label" | "source" | "record" | "file" | "mention" | "parents" | "material";

/** HMAC-SHA-256 over the purpose and the length-prefixed parts, cut to 16 bytes. */
export type KeyedDigest = (purpose: DigestPurpose, ...parts: readonly string[]) => Buffer;

export function createKeyedDigest(secret: Uint8Array): KeyedDigest {
  return (purpose, ...parts) => {
    let message: string = purpose;
    for (const part of parts) message += `\u0000${part.length}\u0000${part}`;
    return createHmac("sha256", secret).update(message, "utf8").digest().subarray(0, DIGEST_BYTES);
  };
}

/** SHA-256 of the parts, one after another. */
export function sha256(...parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** JSON with sorted keys, no white space, integers only and no undefined: equal values give equal bytes. */
export function canonicalJson(value: CanonicalValue): string {
  if (value === null || typeof value === "boolean" || typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new RangeError("canonical JSON holds safe integers only");
    return String(value);
  }
  // Loops, not chains of array methods: every event written and verified passes here several times.
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value as readonly CanonicalValue[]) text += `${text === "" ? "" : ","}${canonicalJson(item)}`;
    return `[${text}]`;
  }
  const record = value as { readonly [key: string]: CanonicalValue | undefined };
  for (const key of Object.keys(record).sort()) {
    const field = record[key];
    if (field !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(field)}`;
  }
  return `{${text}}`;
}

export type CanonicalValue =
  | null
  | boolean
  | number
  | string
  | readonly CanonicalValue[]
  | { readonly [key: string]: CanonicalValue | undefined };
