/**
 * What every Embedder must do, whichever model stands behind it. An adapter's test calls this once; whatever
 * is special about the adapter is tested beside the call.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cosineFromL2, type Embedder, VECTOR_SCALE } from "../../src/core/ports.ts";

/** Half a unit of rounding in each of `dimensions` numbers moves the length by no more than this. */
function roundingAllowance(dimensions: number): number {
  return Math.sqrt(dimensions) / 2;
}

function lengthOf(vector: Int8Array): number {
  return Math.hypot(...vector);
}

/** Cosine of two vectors, by way of the distance that the store computes. */
export function cosineOf(a: Int8Array, b: Int8Array): number {
  return cosineFromL2(Math.hypot(...a.map((value, at) => value - (b[at] ?? 0))));
}

const TEXTS = [
  "Caroline: I went to the support group yesterday and it was powerful.",
  "yes",
  "The build fails on Node 20 because the lock file is out of date.",
  "Größe, naïveté, Ελλάδα, Привет, 你好世界, こんにちは, مرحبا, नमस्ते, 한국어",
  "I love it 😍😍 👩‍👩‍👧‍👦",
  "const answer = compute({ a: 1 }); // 42",
  "2023-05-08T13:56:00Z",
];

/**
 * Registers the suite as vitest tests.
 * @param make called once; a slow model is loaded once for the whole suite
 */
export function embedderConformance(name: string, make: () => Embedder | Promise<Embedder>): void {
  describe(`${name} as an Embedder`, () => {
    let made: Promise<Embedder> | undefined;
    const embedder = (): Promise<Embedder> => {
      made ??= Promise.resolve(make());
      return made;
    };

    it("names its model, revision, runtime and a positive number of dimensions", async () => {
      const { model } = await embedder();
      expect(model.name).not.toBe("");
      expect(model.revision).not.toBe("");
      expect(model.runtime).not.toBe("");
      expect(Number.isInteger(model.dimensions) && model.dimensions > 0).toBe(true);
    });

    it("gives each passage and each query a vector of model.dimensions int8 numbers", async () => {
      const { model, ...port } = await embedder();
      const passages = await port.embedPassages(TEXTS);
      expect(passages).toHaveLength(TEXTS.length);
      for (const vector of [...passages, await port.embedQuery("Where did Caroline go?")]) {
        expect(vector).toBeInstanceOf(Int8Array);
        expect(vector).toHaveLength(model.dimensions);
      }
    });

    it("scales every vector to unit length times 127", async () => {
      const port = await embedder();
      const allowance = roundingAllowance(port.model.dimensions);
      for (const vector of [...(await port.embedPassages(TEXTS)), await port.embedQuery(TEXTS[0] ?? "")]) {
        expect(Math.abs(lengthOf(vector) - VECTOR_SCALE)).toBeLessThanOrEqual(allowance);
      }
    });

    it("gives the same text the same vector every time", async () => {
      const port = await embedder();
      expect(await port.embedPassages(TEXTS)).toEqual(await port.embedPassages(TEXTS));
      expect(await port.embedQuery(TEXTS[2] ?? "")).toEqual(await port.embedQuery(TEXTS[2] ?? ""));
    });

    it("gives different texts different vectors", async () => {
      const passages = await (await embedder()).embedPassages(TEXTS);
      expect(new Set(passages.map((vector) => vector.join(","))).size).toBe(TEXTS.length);
    });

    it("keeps a text's vector whatever stands beside it in the call, and the order of the texts", async () => {
      const port = await embedder();
      const alone: Int8Array[] = [];
      for (const text of TEXTS) alone.push(...(await port.embedPassages([text])));
      expect(await port.embedPassages(TEXTS)).toEqual(alone);
      expect(await port.embedPassages(TEXTS.toReversed())).toEqual(alone.toReversed());
    });

    it("does not change a vector it has handed out", async () => {
      const port = await embedder();
      const [first = new Int8Array()] = await port.embedPassages(["the first text"]);
      const kept = Int8Array.from(first);
      await port.embedPassages(["another text", "and one more"]);
      await port.embedQuery("a question");
      expect(first).toEqual(kept);
    });

    it("answers no texts with no vectors", async () => {
      expect(await (await embedder()).embedPassages([])).toEqual([]);
    });

    it("gives a text without any token the zero vector, and only that", async () => {
      const port = await embedder();
      const zero = new Int8Array(port.model.dimensions);
      const [empty, blank, word] = await port.embedPassages(["", "  \n\t ", "a word"]);
      expect(empty).toEqual(zero);
      expect(blank).toEqual(zero);
      expect(word).not.toEqual(zero);
      expect(await port.embedQuery("")).toEqual(zero);
      expect(await port.embedQuery("word")).not.toEqual(zero);
    });

    it("embeds a text of 20,000 characters to unit length", async () => {
      const port = await embedder();
      const text = "We talked about the garden, the tax return and the boat. ".repeat(400).slice(0, 20_000);
      const [vector = new Int8Array()] = await port.embedPassages([text]);
      expect(Math.abs(lengthOf(vector) - VECTOR_SCALE)).toBeLessThanOrEqual(roundingAllowance(port.model.dimensions));
    });

    it("gives any Unicode text, well-formed or not, a zero or a unit vector", async () => {
      const port = await embedder();
      const allowance = roundingAllowance(port.model.dimensions);
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), loneSurrogates),
          async (text) => {
            const [vector = new Int8Array()] = await port.embedPassages([text]);
            const length = lengthOf(vector);
            expect(vector).toHaveLength(port.model.dimensions);
            expect(length === 0 || Math.abs(length - VECTOR_SCALE) <= allowance).toBe(true);
          },
        ),
        { numRuns: 30 },
      );
    });

    it("puts a text nearer to a query made of its words than an unrelated text", async () => {
      const port = await embedder();
      const [related = new Int8Array(), unrelated = new Int8Array()] = await port.embedPassages([
        "We painted the garden fence green on Sunday.",
        "Interest rates rose by half a percent.",
      ]);
      const query = await port.embedQuery("painted garden fence");
      expect(cosineOf(query, related)).toBeGreaterThan(cosineOf(query, unrelated));
    });
  });
}

const loneSurrogates = fc
  .array(fc.oneof(fc.integer({ min: 0xd800, max: 0xdfff }), fc.integer({ min: 0x20, max: 0x7e })), { maxLength: 20 })
  .map((units) => String.fromCharCode(...units));
