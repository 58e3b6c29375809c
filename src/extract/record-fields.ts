/**
 * Reading untyped JSON fields of records. Refuses to convert: a field of another type is a field that is
 * not there.
 */

export type JsonObject = Readonly<Record<string, unknown>>;

/** True for a JSON object; false for arrays and null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The field when it is a string with something other than white space in it, else null. */
export function readString(record: JsonObject, field: string): string | null {
  const value = record[field];
  return typeof value === "string" && value.trim() !== "" ? value : null;
}
