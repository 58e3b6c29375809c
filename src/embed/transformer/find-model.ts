/**
 * Which of the places that this machine knows holds a model: files and rules decide, by the revision that they
 * make, since one name may stand for several. Loads no model and asks no network.
 */
import { DormouseError } from "../../core/errors.ts";
import { type ModelFolder, readModelFolder } from "./model-folder.ts";
import type { ModelPlace, ModelPlaces } from "./model-places.ts";

export interface FoundModel {
  readonly place: ModelPlace;
  readonly folder: ModelFolder;
}

/**
 * The place whose files and rules make the wanted revision, else the likeliest; null when the machine knows none.
 * @throws DormouseError `model_missing` or `damaged` when it would be the likeliest, and that is not whole.
 */
export async function findModel(
  places: ModelPlaces,
  name: string,
  wanted: { readonly preferred?: string | undefined; readonly revision?: string | undefined },
): Promise<FoundModel | null> {
  const digests = places.digests();
  const results: (FoundModel | DormouseError)[] = [];
  for (const place of places.candidates(name, wanted)) {
    try {
      const folder = await readModelFolder(place.directory, { name, given: place.rules, digests });
      if (folder.revision === wanted.revision) return { place, folder };
      results.push({ place, folder });
    } catch (error) {
      if (!(error instanceof DormouseError)) throw error;
      results.push(error);
    }
    if (wanted.revision === undefined) break;
  }
  const [likeliest = null] = results;
  if (likeliest instanceof DormouseError) throw likeliest;
  return likeliest;
}
