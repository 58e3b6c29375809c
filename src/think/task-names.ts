/** What a language model can be asked, in the order of a night. */
export const TASK_NAMES = ["distil", "think", "tension", "dream", "date"] as const;
export type TaskName = (typeof TASK_NAMES)[number];
