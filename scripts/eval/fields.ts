/**
 * Checked access to parsed JSON of evaluation files. Refuses a wrong type by the field's name and never
 * shows the value.
 */
import { DormouseError } from "../../src/core/errors.ts";

/** @throws DormouseError `format` when the value is no object. */
export function asObject(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrongType(name, "an object");
  return value as Readonly<Record<string, unknown>>;
}

/** @throws DormouseError `format` when the value is no list. */
export function asList(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrongType(name, "a list");
  return value;
}

/** @throws DormouseError `format` when the value is no string. */
export function asText(value: unknown, name: string): string {
  if (typeof value !== "string") throw wrongType(name, "a text");
  return value;
}

/** The string, or null for whatever else is there. */
export function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

function wrongType(name: string, wanted: string): DormouseError {
  return new DormouseError("format", `${name}: ${wanted} was expected`, {
    hint: "The file is not laid out as this evaluation set is.",
  });
}
