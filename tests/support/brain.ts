/** A brain in a temporary folder with a still clock and an embedder without a model. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RememberInput, RememberResult } from "../../src/core/types.ts";
import { rememberAll } from "../../src/remember/remember.ts";
import { Store } from "../../src/store/store.ts";
import { createTestClock, type TestClock } from "./clock.ts";
import { createHashEmbedder } from "./hash-embedder.ts";

export interface TestStore {
  readonly store: Store;
  readonly embedder: ReturnType<typeof createHashEmbedder>;
  readonly clock: TestClock;
  /** The brain file; its folder is removed by `close`. */
  readonly path: string;
  /** Remembers in one transaction as a person. */
  remember(...inputs: (RememberInput | string)[]): Promise<RememberResult[]>;
  close(): void;
}

/** @param options.dimensions of the embedder; many keep unrelated words apart. Default 64. */
export function createTestStore(options: { clock?: TestClock; path?: string; dimensions?: number } = {}): TestStore {
  const folder = options.path === undefined ? mkdtempSync(join(tmpdir(), "dormouse-test-")) : null;
  const path = options.path ?? join(folder ?? "", "brain.db");
  const clock = options.clock ?? createTestClock();
  const embedder = createHashEmbedder(options.dimensions);
  const store = Store.open(path, clock, { create: true });
  return {
    store,
    embedder,
    clock,
    path,
    remember: (...inputs) =>
      rememberAll(
        store,
        embedder,
        inputs.map((input) => (typeof input === "string" ? { content: input } : input)),
        { actor: "person" },
      ),
    close: () => {
      store.close();
      if (folder !== null) rmSync(folder, { recursive: true, force: true });
    },
  };
}
