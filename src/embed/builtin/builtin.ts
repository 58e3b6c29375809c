/**
 * The default embedder: a static table with one row a token, distilled from a sentence model by
 * scripts/distil.ts. A text is the normalised sum of its tokens' rows. Needs no download, no native code and
 * no other text; knows no word order, and tells a question from a passage by nothing.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DormouseError } from "../../core/errors.ts";
import type { Embedder } from "../../core/ports.ts";
import { tokenizeWordPiece } from "../../text/wordpiece.ts";
import { toUnitVector } from "../unit-vector.ts";
import { parseTable, type StaticTable } from "./table-format.ts";

/** Where the table lies: beside this module in the sources, in `builtin/` beside the bundle in `dist/`. */
const TABLE_PLACES = ["./table.bin", "./builtin/table.bin"];

let loaded: StaticTable | undefined;

/**
 * Reads the table once a process, about 8 MB, and serves it to every embedder made.
 * @throws DormouseError `model_missing` when the package lacks the file, `damaged` when it is not whole.
 */
export function createBuiltinEmbedder(): Embedder {
  loaded ??= parseTable(readTableFile());
  const table = loaded;
  return {
    model: {
      name: "builtin",
      revision: table.digest,
      dimensions: table.dimensions,
      runtime: "dormouse-static/1",
    },
    embedPassages: async (texts) => texts.map((text) => embedText(table, text)),
    embedQuery: async (text) => embedText(table, text),
  };
}

function embedText(table: StaticTable, text: string): Int8Array {
  const { dimensions, rows, scales, vocabulary } = table;
  const sum = new Float64Array(dimensions);
  for (const id of tokenizeWordPiece(vocabulary, text)) {
    const scale = scales[id] as number;
    if (scale === 0) continue;
    const start = id * dimensions;
    for (let at = 0; at < dimensions; at++) sum[at] = (sum[at] as number) + scale * (rows[start + at] as number);
  }
  return toUnitVector(sum);
}

function readTableFile(): Uint8Array {
  for (const place of TABLE_PLACES) {
    try {
      return readFileSync(fileURLToPath(new URL(place, import.meta.url)));
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) {
        throw new DormouseError("io", "the built-in embedding table cannot be read", { cause: error });
      }
    }
  }
  throw new DormouseError("model_missing", "the built-in embedding table is missing", {
    hint: "Install dormouse again; the table is a file of the package.",
  });
}
