/**
 * The marks of this program's own output: the fence around a context pack and the one around sleep
 * material. A reader that finds them refuses the text, so a brain never eats what it once said.
 */

/** Element name that opens a context pack. */
export const FENCE_OPEN_MARK = "dormouse:evidence";

/** Element name that opens the material of a sleep prompt. */
export const MATERIAL_OPEN_MARK = "dormouse:material";

/** True when the text carries an opening of one of our own fences, anywhere. */
export function isOwnOutput(text: string): boolean {
  return text.includes(`<${FENCE_OPEN_MARK}`) || text.includes(`<${MATERIAL_OPEN_MARK}`);
}

/** The text without anything that could open or close a fence of ours: the angle before its name is replaced. */
export function disarmFences(text: string): string {
  return text.replaceAll(/<(\s*\/?\s*dormouse:)/gi, "‹$1").replaceAll("\r", "");
}
