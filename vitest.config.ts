import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** Those of a kind of broker and of the kit; PARKADE_PROVED leaves out folders, separated by commas (scripts/proved-brokers.ts). */
const BROKERS = ["lib/{brokers/*,kit}/**/*.itest.ts"];
const PROVED = (process.env.PARKADE_PROVED ?? "").split(",").filter((folder) => folder !== "");
/** Unit tests of what ends at a limit of time of its own, a quarter of a second. */
const LIMITS = ["lib/repair/{recipes/apply-recipe,schemas/check-payload}.test.ts"];
const alias = { "@": fileURLToPath(new URL(".", import.meta.url)) };

/** Files of one worker share their modules: loading them anew for each file took half of the processor time of unit tests. */
const TOGETHER = { environment: "node", isolate: false, unstubGlobals: true, unstubEnvs: true } as const;

const ON_NO_SERVER = {
  ...TOGETHER,
  // A unit test has no wall-clock bound: a slow machine makes it slow, an endless loop ends it here.
  testTimeout: 60_000,
  hookTimeout: 60_000,
};

/** On real servers: PostgreSQL, started by the global setup, and Redis and the brokers, started at their first use. */
const ON_SERVERS = {
  ...TOGETHER,
  globalSetup: "lib/testing/global-setup.ts",
  // No test has a bound of its own: what it waits for comes as soon as the machine has time for it, ten servers share
  // two cores, and a test that measures says so. An endless wait ends here.
  testTimeout: 300_000,
  // A broker takes seconds to start, and ten times as long on a busy machine.
  hookTimeout: 300_000,
  // A test file waits two thirds of its time: for a server's start, a lease, an outage. Three at once left two cores idle for
  // half of it. With more than four an attempt that may take three seconds does not always end in time.
  maxWorkers: 4,
  // Projects with another number of workers are another group.
  sequence: { groupOrder: 1 },
  expect: { poll: { timeout: 120_000 } },
};

/**
 * unit: pure code, no server, milliseconds. limits: the same for code that is stopped when it takes too long; beside another file it
 * would be stopped too early. integration: the product; each file clones its own database from a migrated
 * template. brokers: what reads and writes the queues of others, and the kit, each on its own servers. soak: what takes long, in
 * `npm run soak` alone.
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
          exclude: LIMITS,
          ...ON_NO_SERVER,
          // Vitest leaves one core free, which is half of two.
          maxWorkers: "100%",
        },
      },
      {
        resolve: { alias },
        // One worker: Vitest runs these files one after the other, after all others.
        test: { name: "limits", include: LIMITS, ...ON_NO_SERVER, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
      {
        resolve: { alias },
        test: {
          name: "integration",
          include: ["{lib,app,workers,scripts}/**/*.itest.ts"],
          exclude: BROKERS,
          ...ON_SERVERS,
        },
      },
      {
        resolve: { alias },
        test: { name: "brokers", include: BROKERS, exclude: PROVED.map((folder) => `${folder}/**`), ...ON_SERVERS },
      },
      {
        resolve: { alias },
        test: { name: "soak", include: ["{lib,app,workers,scripts}/**/*.soak.ts"], ...ON_SERVERS },
      },
    ],
  },
});
