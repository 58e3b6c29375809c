/**
 * Checkpoints: a small signed file that says how far a ledger was at a moment, kept somewhere else. Whoever can write
 * the brain can write a whole new history, but not the signature under what was. No words of a memory, no network.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { DormouseError } from "../core/errors.ts";
import { formatId } from "../core/ids.ts";
import { canonicalJson } from "../store/digest.ts";
import { formatHead } from "../store/ledger.ts";
import type { Store } from "../store/store.ts";

const FORMAT = "dormouse.checkpoint.v1";
/** Hex digits of a key's fingerprint. */
const FINGERPRINT_DIGITS = 32;

/** What is signed, as canonical JSON. */
interface Statement {
  readonly format: typeof FORMAT;
  readonly brain: string;
  readonly ledger: string;
  readonly head: string;
  /** Milliseconds. */
  readonly at: number;
}

export interface Checkpoint {
  readonly file: string;
  readonly keyFile: string;
  /** The key was made just now. */
  readonly newKey: boolean;
  /** Of the public key, to be kept apart from the brain. */
  readonly fingerprint: string;
  readonly head: string;
  readonly at: string;
}

/** A checkpoint whose signature is its key's; whose key it is, the fingerprint tells. */
export interface ReadCheckpoint {
  readonly fingerprint: string;
  readonly brain: string;
  readonly head: string;
  readonly at: string;
}

/** The key beside a brain, made at the first checkpoint. */
export function defaultKeyFile(brainPath: string): string {
  return `${brainPath}.key`;
}

/**
 * Signs the head of today and writes it to a file that must not be there yet.
 * @throws DormouseError `usage` when the file is there; `io`; `invalid` for a key that is no Ed25519 private key
 */
export function writeCheckpoint(store: Store, file: string, keyFile: string): Checkpoint {
  const { key, isNew } = openKey(keyFile);
  const publicKey = createPublicKey(key);
  const statement = store.read((): Statement => {
    const { brain, ledger } = identify(store);
    return { format: FORMAT, brain, ledger, head: formatHead(store.ledger.head()), at: store.now() };
  });
  const signed = {
    ...statement,
    key: publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    signature: sign(null, bytesOf(statement), key).toString("base64"),
  };
  writeNew(file, `${JSON.stringify(signed, null, 2)}\n`, 0o644);
  return {
    file,
    keyFile,
    newKey: isNew,
    fingerprint: fingerprintOf(publicKey),
    head: statement.head,
    at: new Date(statement.at).toISOString(),
  };
}

/**
 * @throws DormouseError `io` when it cannot be read; `invalid` when it is no checkpoint, its signature is not its
 * key's, it is of another brain, or signed by another key than the one beside this brain or the one expected
 */
export function readCheckpoint(store: Store, file: string, expectedKey: string | undefined): ReadCheckpoint {
  const { statement, publicKey, signature } = parseCheckpoint(file);
  if (!verify(null, bytesOf(statement), publicKey, signature)) {
    throw new DormouseError(
      "invalid",
      "the signature does not fit the checkpoint: it was changed after it was signed",
      {
        hint: "Use a copy that nobody could change.",
      },
    );
  }
  const fingerprint = fingerprintOf(publicKey);
  if (expectedKey !== undefined && expectedKey.toLowerCase() !== fingerprint) {
    throw new DormouseError("invalid", `the checkpoint was signed by another key, ${fingerprint}`);
  }
  if (statement.brain !== store.read(() => identify(store)).brain) {
    throw new DormouseError("invalid", "the checkpoint is of another brain", {
      hint: "`--brain FILE` chooses the brain.",
    });
  }
  return { fingerprint, brain: statement.brain, head: statement.head, at: new Date(statement.at).toISOString() };
}

function identify(store: Store): { brain: string; ledger: string } {
  const ledger = store.ledger.ledgers().find(({ writing }) => writing);
  if (ledger === undefined) throw new RangeError("the brain has no ledger");
  return { brain: formatId("label", store.publicId()), ledger: formatId("label", ledger.publicId) };
}

function bytesOf({ format, brain, ledger, head, at }: Statement): Buffer {
  return Buffer.from(canonicalJson({ format, brain, ledger, head, at }), "utf8");
}

function fingerprintOf(publicKey: KeyObject): string {
  const der = publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(der).digest("hex").slice(0, FINGERPRINT_DIGITS);
}

/** The private key in a file; a new one, readable by its owner alone, when there is no file. */
function openKey(keyFile: string): { key: KeyObject; isNew: boolean } {
  let pem: string;
  try {
    pem = readFileSync(keyFile, "utf8");
  } catch (error) {
    if (!isMissing(error)) throw ioError(`the key file ${keyFile} cannot be read`, error);
    const { privateKey } = generateKeyPairSync("ed25519");
    writeNew(keyFile, privateKey.export({ type: "pkcs8", format: "pem" }).toString(), 0o600);
    return { key: privateKey, isNew: true };
  }
  const key = parsed(() => createPrivateKey(pem));
  if (key?.asymmetricKeyType !== "ed25519") {
    throw new DormouseError("invalid", `${keyFile} holds no Ed25519 private key`, {
      hint: "Leave --key out, or name a file that is not there: a key is made.",
    });
  }
  return { key, isNew: false };
}

function parseCheckpoint(file: string): { statement: Statement; publicKey: KeyObject; signature: Buffer } {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw ioError(`the checkpoint ${file} cannot be read`, error);
  }
  const value = parsed((): unknown => JSON.parse(text));
  const fields = (typeof value === "object" && value !== null ? value : {}) as Readonly<Record<string, unknown>>;
  const { format, brain, ledger, head, at, key, signature } = fields;
  const publicKey =
    typeof key === "string"
      ? parsed(() => createPublicKey({ key: Buffer.from(key, "base64"), type: "spki", format: "der" }))
      : undefined;
  if (
    format !== FORMAT ||
    typeof brain !== "string" ||
    typeof ledger !== "string" ||
    typeof head !== "string" ||
    typeof at !== "number" ||
    !Number.isSafeInteger(at) ||
    typeof signature !== "string" ||
    publicKey?.asymmetricKeyType !== "ed25519"
  ) {
    throw new DormouseError("invalid", `${file} is no checkpoint of a brain`, {
      hint: "`dormouse checkpoint FILE` writes one.",
    });
  }
  const statement: Statement = { format, brain, ledger, head, at };
  return { statement, publicKey, signature: Buffer.from(signature, "base64") };
}

/** Undefined when it cannot be parsed. */
function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    return undefined;
  }
}

function writeNew(file: string, text: string, mode: number): void {
  try {
    writeFileSync(file, text, { mode, flag: "wx" });
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") {
      throw new DormouseError("usage", `${file} is there already`, { hint: "Choose another name." });
    }
    throw ioError(`${file} cannot be written`, error);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function ioError(message: string, cause: unknown): DormouseError {
  return new DormouseError("io", message, { hint: "Check the path and its rights.", cause });
}
