import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hubRepository, isModelName, knownModelNames } from "../../src/embed/transformer/model-names.ts";
import { ModelPlaces } from "../../src/embed/transformer/model-places.ts";

let root: string;
let home: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "dormouse-places-"));
  home = join(root, "home");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function writeModel(folder: string): string {
  mkdirSync(join(folder, "onnx"), { recursive: true });
  for (const file of ["config.json", "tokenizer.json", "onnx/model.onnx"]) writeFileSync(join(folder, file), "{}");
  return folder;
}

describe("the places of models", () => {
  it("are none on a new machine", () => {
    const places = new ModelPlaces(home);
    expect(places.names()).toEqual([]);
    expect(places.locate("e5-small-v2")).toBeNull();
  });

  it("are remembered for the next process, readable by their owner only", () => {
    const rules = { queryPrefix: "q: " };
    new ModelPlaces(home).remember("mine", { revision: "1", directory: "/somewhere/mine", rules });
    const places = new ModelPlaces(home);
    expect(places.locate("mine")).toBe("/somewhere/mine");
    expect(places.candidates("mine", {})).toEqual([{ directory: "/somewhere/mine", rules }]);
    expect(places.names()).toEqual(["mine"]);
    expect(statSync(join(home, "models.json")).mode & 0o777).toBe(0o600);
  });

  it("are the folder of models when nothing else is remembered, also by OWNER/NAME", () => {
    const places = new ModelPlaces(home);
    const downloaded = writeModel(places.folderFor("e5-small-v2"));
    const owned = writeModel(places.folderFor("someone/model"));
    expect(places.locate("e5-small-v2")).toBe(downloaded);
    expect(places.locate("someone/model")).toBe(owned);
    expect(places.names()).toEqual(["e5-small-v2", "someone/model"]);
    mkdirSync(join(home, "models", ".e5-small-v2-x1", "onnx"), { recursive: true });
    expect(places.names()).toEqual(["e5-small-v2", "someone/model"]);
    places.remember("e5-small-v2", { revision: "1", directory: "/elsewhere" });
    expect(places.locate("e5-small-v2")).toBe("/elsewhere");
  });

  it("give way to a folder that a person names: the model's own or the one above it", () => {
    const places = new ModelPlaces(home);
    places.remember("e5-small-v2", { revision: "1", directory: "/remembered" });
    const own = writeModel(join(root, "models", "e5-small-v2"));
    expect(places.locate("e5-small-v2", own)).toBe(own);
    expect(places.locate("e5-small-v2", join(root, "models"))).toBe(own);
    expect(places.locate("e5-small-v2", join(root, "nowhere"))).toBe(join(root, "nowhere"));
    expect(places.locate("someone/other", join(root, "models"))).toBeNull();
    // DORMOUSE_MODEL_DIR may be set for another model than the one asked for.
    expect(places.locate("e5-small-v2", writeModel(join(root, "all-MiniLM-L6-v2")))).toBe("/remembered");
  });

  it("are several of one name: the wanted revision's first, then the latest, what was written by hand, the usual", () => {
    mkdirSync(home);
    writeFileSync(join(home, "models.json"), '{"mine":{"directory":"/by-hand"}}');
    const places = new ModelPlaces(home);
    const usual = writeModel(places.folderFor("mine"));
    const rules = { passagePrefix: "p: " };
    places.remember("mine", { revision: "1", directory: "/first" });
    places.remember("mine", { revision: "2", directory: "/second", rules });
    places.remember("mine", { revision: "3", directory: "/third" });
    places.remember("mine", { revision: "2", directory: "/second", rules });
    const folders = (wanted: { revision?: string }) =>
      places.candidates("mine", wanted).map(({ directory }) => directory);
    expect(folders({})).toEqual(["/second", "/third", "/first", "/by-hand", usual]);
    expect(folders({ revision: "1" })).toEqual(["/first", "/second", "/third", "/by-hand", usual]);
    expect(folders({ revision: "of no place" })).toEqual(folders({}));
    expect(places.candidates("mine", { revision: "2" })[0]).toEqual({ directory: "/second", rules });
    expect(places.candidates("mine", {}).at(-1)).toEqual({ directory: usual, rules: {} });
    expect(places.isRemembered("mine", "/first")).toBe(true);
    expect(places.isRemembered("mine", usual)).toBe(false);
  });

  it("are none for what an object has by itself, and for a name that would lead elsewhere", () => {
    const places = new ModelPlaces(home);
    mkdirSync(join(root, "outside"));
    for (const name of ["constructor", "toString", "__proto__", "../../outside", "..", "a/../../../outside"]) {
      expect([name, places.locate(name), places.locate(name, undefined, "1")]).toEqual([name, null, null]);
    }
    expect(places.locate("../outside", home)).toBeNull();
    expect(() => places.folderFor("../../outside")).toThrow(expect.objectContaining({ code: "usage" }));
    places.remember("__proto__", { revision: "1", directory: "/odd" });
    expect(new ModelPlaces(home).locate("__proto__")).toBe("/odd");
    expect(new ModelPlaces(home).locate("mine")).toBeNull();
  });

  it("refuse a models.json that cannot be understood, and do without digests that cannot", () => {
    mkdirSync(home);
    for (const text of [
      "{",
      "[]",
      '{"m":1}',
      '{"m":{"directory":2}}',
      '{"m":[{"revision":2}]}',
      '{"m":[[]]}',
      '{"m":{"rules":{"queryPrefix":1}}}',
    ]) {
      writeFileSync(join(home, "models.json"), text);
      expect(() => new ModelPlaces(home).locate("m")).toThrow(expect.objectContaining({ code: "damaged" }));
    }
    writeFileSync(join(home, "model-digests.json"), "{");
    expect(new ModelPlaces(home).digests().get("key")).toBeUndefined();
  });

  it("keep digests between processes, in a home that can be written", () => {
    const digests = new ModelPlaces(home).digests();
    digests.set("file 1", "abc");
    expect(new ModelPlaces(home).digests().get("file 1")).toBe("abc");
    writeFileSync(join(root, "file"), "");
    const closed = new ModelPlaces(join(root, "file", "home")).digests();
    expect(() => closed.set("file 1", "abc")).not.toThrow();
    expect(closed.get("file 1")).toBe("abc");
    for (let index = 0; index < 150; index++) digests.set(`file ${index}`, "x");
    expect(Object.keys(JSON.parse(readFileSync(join(home, "model-digests.json"), "utf8")))).toHaveLength(100);
  });
});

describe("the names of models", () => {
  it("stand for repositories of the hub, or are such themselves", () => {
    expect(knownModelNames()).toEqual(["e5-small-v2", "all-MiniLM-L6-v2"]);
    expect(hubRepository("e5-small-v2")).toBe("Xenova/e5-small-v2");
    expect(hubRepository("someone/model")).toBe("someone/model");
    expect(hubRepository("mine")).toBeNull();
    for (const name of ["constructor", "toString", "__proto__", "../x"]) expect(hubRepository(name)).toBeNull();
  });

  it("lead out of no folder", () => {
    for (const name of ["e5-small-v2", "someone/bge-small-en-v1.5", "a_b"]) expect(isModelName(name)).toBe(true);
    for (const name of ["", "..", "../x", "a/../b", "a/b/c", "/a", "a b", ".hidden", "a\\b"]) {
      expect([name, isModelName(name)]).toEqual([name, false]);
    }
  });
});
