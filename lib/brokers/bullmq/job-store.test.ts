import { expect, test } from "vitest";
import { openJobStore } from "@/lib/brokers/bullmq/job-store";
import { systemClock } from "@/lib/platform/clock";

test("queues on PostgreSQL are not read by a connection that takes any certificate", async () => {
  const url = "postgres://u:hunter2@db.invalid/queues?sslmode=no-verify";
  const config = { url, queue: "orders", prefix: "bull", schema: "bullmq" };
  const connecting = { name: "test", signal: new AbortController().signal };
  const opened = openJobStore(config, connecting, { clock: systemClock, random: () => 0 });
  await expect(opened).rejects.toMatchObject({
    code: "BULLMQ_SSLMODE",
    message: expect.stringContaining("verify-full"),
  });
  await expect(opened).rejects.not.toThrow(/hunter2/);
});
