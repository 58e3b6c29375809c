import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { VECTOR_SCALE } from "../../src/core/ports.ts";
import { createBuiltinEmbedder } from "../../src/embed/builtin/builtin.ts";
import { digestTable, encodeTable, parseTable } from "../../src/embed/builtin/table-format.ts";
import { tokenizeWordPiece } from "../../src/text/wordpiece.ts";
import { cosineOf, embedderConformance } from "../conformance/embedder.ts";
import { createHashEmbedder } from "../support/hash-embedder.ts";

const TABLE = new URL("../../src/embed/builtin/table.bin", import.meta.url);

embedderConformance("the built-in embedder", createBuiltinEmbedder);
embedderConformance("the hash embedder of the tests", () => createHashEmbedder());

describe("the built-in embedder", () => {
  const embedder = createBuiltinEmbedder();

  it("finds the passage that means the same in other words, among ten", async () => {
    const passages = [
      "The physician prescribed medicine for her illness.",
      "He repaired the engine of the old car.",
      "They cooked pasta for dinner.",
      "The puppy chased a kitten around the yard.",
      "Our flight to Paris was delayed by snow.",
      "She bought a violin and takes music lessons.",
      "The bank raised the mortgage rate.",
      "He scored two goals in the football match.",
      "The database migration failed with an error.",
      "Their daughter was born in a hospital last spring.",
    ];
    const questions = [
      "doctor gave drugs to a sick patient",
      "fixing a vehicle's motor",
      "a meal of noodles in the evening",
      "dog and cat playing",
      "late airplane travel, winter weather",
      "learning to play an instrument",
      "loan interest for a house",
      "soccer game result",
      "SQL schema upgrade problem",
      "birth of a baby",
    ];
    const vectors = await embedder.embedPassages(passages);
    for (const [expected, question] of questions.entries()) {
      const query = await embedder.embedQuery(question);
      const cosines = vectors.map((vector) => cosineOf(query, vector));
      expect({ question, best: cosines.indexOf(Math.max(...cosines)) }).toEqual({ question, best: expected });
    }
  });

  it("lets rare words weigh more than frequent ones", async () => {
    const [frequent = new Int8Array(), rare = new Int8Array(), both = new Int8Array()] = await embedder.embedPassages([
      "of the",
      "dormouse",
      "of the dormouse",
    ]);
    expect(cosineOf(both, rare)).toBeGreaterThan(0.95);
    expect(cosineOf(both, frequent)).toBeLessThan(0.5);
  });

  it("takes a question and a passage alike", async () => {
    const [passage] = await embedder.embedPassages(["What did the dormouse say?"]);
    expect(await embedder.embedQuery("What did the dormouse say?")).toEqual(passage);
  });

  it("does not tell case, accents or composed and decomposed letters apart", async () => {
    const [plain, ...others] = await embedder.embedPassages([
      "cafe in zurich",
      "Café in Zürich",
      "CAFE\u0301 IN ZU\u0308RICH",
    ]);
    for (const other of others) expect(other).toEqual(plain);
  });

  it("gives a text of nothing but unknown words the zero vector", async () => {
    expect(await embedder.embedQuery("𓂀𓃒 𒀭𒈗")).toEqual(new Int8Array(embedder.model.dimensions));
  });

  it("is the normalised sum of its tokens' rows, computed here the long way", async () => {
    const table = parseTable(readFileSync(TABLE));
    const text = "Melanie: I painted a sunrise last year, and again the year before";
    const sum = Array.from({ length: table.dimensions }, () => 0);
    for (const id of tokenizeWordPiece(table.vocabulary, text)) {
      for (const at of sum.keys()) {
        sum[at] = (sum[at] ?? 0) + (table.rows[id * table.dimensions + at] ?? 0) * (table.scales[id] ?? 0);
      }
    }
    const length = Math.hypot(...sum);
    expect([...(await embedder.embedQuery(text))]).toEqual(
      sum.map((value) => Math.round((value * VECTOR_SCALE) / length) + 0),
    );
  });
});

describe("the table file", () => {
  const bytes = readFileSync(TABLE);

  it("carries the digest of its own bytes, which is the model's revision", () => {
    const digest = Buffer.from(digestTable(bytes)).toString("hex");
    expect(parseTable(bytes).digest).toBe(digest);
    expect(createBuiltinEmbedder().model.revision).toBe(digest);
    const changed = Uint8Array.from(bytes);
    changed[changed.length - 1] = (changed[changed.length - 1] ?? 0) ^ 1;
    expect(Buffer.from(digestTable(changed)).toString("hex")).not.toBe(digest);
  });

  it("is the one that NOTICE.md says where it came from", () => {
    const notice = readFileSync(new URL("../../src/embed/builtin/NOTICE.md", import.meta.url), "utf8");
    expect(notice).toContain(parseTable(bytes).digest);
  });

  it("gives tokens that no text can hold no weight, and every other token some", () => {
    const { scales, vocabulary } = parseTable(bytes);
    const tokens = Array.from(scales, (_, id) =>
      String.fromCharCode(...vocabulary.units.subarray(vocabulary.starts[id], vocabulary.starts[id + 1])),
    );
    expect(tokens).toHaveLength(30_522);
    const silent = tokens.filter((_, id) => scales[id] === 0);
    expect(silent).toContain("[CLS]");
    expect(silent.filter((token) => !/^\[.+\]$/.test(token))).toEqual([]);
  });

  it("is read the same from bytes that are not aligned", () => {
    const shifted = new Uint8Array(bytes.length + 1);
    shifted.set(bytes, 1);
    const table = parseTable(shifted.subarray(1));
    expect(table.digest).toBe(parseTable(bytes).digest);
    expect(tokenizeWordPiece(table.vocabulary, "dormouse")).toEqual(
      tokenizeWordPiece(parseTable(bytes).vocabulary, "dormouse"),
    );
  });

  it("is refused when it is cut short, empty or something else", () => {
    const damaged = expect.objectContaining({ name: "DormouseError", code: "damaged" });
    for (const wrong of [
      bytes.subarray(0, bytes.length - 1),
      bytes.subarray(0, 10),
      new Uint8Array(),
      Buffer.alloc(200),
    ]) {
      expect(() => parseTable(wrong)).toThrow(damaged);
    }
    expect(parseTable(bytes).dimensions).toBe(256);
  });

  it("comes back as it was encoded, to half a step of each row", () => {
    const tokens = ["[UNK]", "a", "##b"];
    const rows = Float64Array.from([0, 0, 1, -0.5, 0.001, 3]);
    const table = parseTable(encodeTable(tokens, rows, 0));
    expect(table.scales[0]).toBe(0);
    for (const [at, value] of rows.entries()) {
      const scale = table.scales[at >> 1] ?? 0;
      expect(Math.abs((table.rows[at] ?? 0) * scale - value)).toBeLessThanOrEqual(scale / 2 + 1e-7);
    }
    expect(tokenizeWordPiece(table.vocabulary, "ab abb b")).toEqual([1, 2, 1, 2, 2, 0]);
  });
});
