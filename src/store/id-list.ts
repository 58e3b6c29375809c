/**
 * Ascending ids as bytes: each the distance from the one before, seven bits a byte, the lowest first (LEB128). A
 * recall of 10,000 thoughts is one blob of some 10 to 20 kB. Refuses what does not ascend.
 */

const MORE = 0x80;
const LOW_BITS = 0x7f;
/** Bytes of the largest distance, 2^35. */
const MAX_BYTES = 5;

/** @throws RangeError when the ids do not ascend from 1 */
export function encodeIds(ids: readonly number[]): Buffer {
  const bytes = Buffer.allocUnsafe(ids.length * MAX_BYTES);
  let length = 0;
  let before = 0;
  for (const id of ids) {
    let distance = id - before;
    if (distance < 1 || !Number.isInteger(distance)) throw new RangeError("ids of a list ascend");
    while (distance > LOW_BITS) {
      bytes[length++] = (distance % MORE) | MORE;
      distance = Math.floor(distance / MORE);
    }
    bytes[length++] = distance;
    before = id;
  }
  return bytes.subarray(0, length);
}

/** @throws RangeError for bytes that `encodeIds` never gives */
export function decodeIds(bytes: Uint8Array): number[] {
  const ids: number[] = [];
  let id = 0;
  let distance = 0;
  let scale = 1;
  for (const byte of bytes) {
    distance += (byte & LOW_BITS) * scale;
    scale *= MORE;
    if (byte >= MORE) {
      if (scale > MORE ** MAX_BYTES) throw new RangeError("a list of ids is malformed");
      continue;
    }
    if (distance < 1) throw new RangeError("a list of ids is malformed");
    id += distance;
    ids.push(id);
    distance = 0;
    scale = 1;
  }
  if (scale !== 1) throw new RangeError("a list of ids is cut short");
  return ids;
}

/** Whether a list holds an id, read no further than needed. What `decodeIds` refuses may give either answer. */
export function includesId(bytes: Uint8Array, wanted: number): boolean {
  let id = 0;
  let distance = 0;
  let scale = 1;
  for (const byte of bytes) {
    distance += (byte & LOW_BITS) * scale;
    scale *= MORE;
    if (byte >= MORE) continue;
    id += distance;
    if (id >= wanted) return id === wanted;
    distance = 0;
    scale = 1;
  }
  return false;
}
