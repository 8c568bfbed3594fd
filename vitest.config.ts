import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const alias = { "@": fileURLToPath(new URL(".", import.meta.url)) };

/**
 * unit: pure code, no server, milliseconds. integration: real PostgreSQL, Redis and brokers, started once by the
 * global setup on free ports; each file clones its own database from a migrated template.
 */
export default defineConfig({
  resolve: { alias },
  test: {
    projects: [
      {
        resolve: { alias },
        test: {
          name: "unit",
          include: ["{lib,components,app,workers,scripts,bench}/**/*.test.{ts,tsx}"],
          environment: "node",
          // A unit test has no wall-clock bound: a slow machine makes it slow, an endless loop ends it here.
          testTimeout: 60_000,
        },
      },
      {
        resolve: { alias },
        test: {
          name: "integration",
          include: ["{lib,app,workers,scripts}/**/*.itest.ts"],
          environment: "node",
          globalSetup: ["lib/testing/global-setup.ts"],
          testTimeout: 30_000,
          // A broker takes seconds to start, and ten times as long on a busy machine.
          hookTimeout: 180_000,
          maxWorkers: 2,
          // Ten servers share two cores in CI. A test that fails there runs once more, and the report marks it.
          retry: process.env.CI === "true" ? 1 : 0,
          // What a test waits for comes as soon as the machine has time for it, and two files run at once.
          expect: { poll: { timeout: 10_000 } },
        },
      },
    ],
  },
});
