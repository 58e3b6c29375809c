import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    // Processes are spawned and files synced to disk; two cores run them side by side.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    reporters: process.env.CI === undefined ? ["default"] : [["default", { summary: false }]],
  },
});
