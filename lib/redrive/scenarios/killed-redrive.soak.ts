import { spawn } from "node:child_process";
import { expect, test } from "vitest";
import { killedRedrive } from "@/lib/testing/killed-redrive";
import { program } from "@/lib/testing/programs";
import { redisInstalled } from "@/lib/testing/redis";

const EVENTS = 20_000;

test.runIf(redisInstalled)(
  "a redrive of 20,000 events loses, doubles and reorders nothing while workers, Redis and PostgreSQL are killed",
  { timeout: 600_000 },
  async () => {
    const result = await killedRedrive({
      events: EVENTS,
      killEveryMs: 6_000,
      random: Math.random,
      startWorker: (env) =>
        spawn(process.execPath, [program("worker")], {
          env: { ...process.env, ...env, PARKADE_LOG_LEVEL: "silent" },
          stdio: ["ignore", "ignore", "inherit", "ipc"],
        }),
    });
    expect(result.broken).toEqual([]);
    expect(result).toMatchObject({ flushes: 2, storeRestarts: 1 });
    expect(result.kills).toBeGreaterThanOrEqual(1);
  },
);
