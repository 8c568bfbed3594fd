import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/**
 * The tests of the retry engine as mutation testing runs them. The contract matrix stays out: it covers everything at
 * the price of seconds per mutant, so the score is that of the unit tests alone.
 */
export default defineConfig({
  resolve: { alias: { "@": fileURLToPath(new URL("../../..", import.meta.url)) } },
  test: {
    include: ["lib/retry/**/*.test.ts"],
    exclude: ["lib/retry/contract-matrix.test.ts"],
    environment: "node",
    isolate: false,
  },
});
