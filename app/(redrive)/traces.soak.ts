import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { startOtlpCollector } from "@/lib/testing/otlp-collector";
import { program } from "@/lib/testing/programs";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();

/** A silent collector holds the first batch for ten seconds, and one that is away is asked again for as long. */
test.each(["hangs", "is away"] as const)(
  "sends go on while the collector %s, the log has one line about it, and the worker stops",
  async (fault) => {
    const collector = await startOtlpCollector();
    if (fault === "is away") await collector.stop();
    else collector.answer = null;
    let output = "";
    const worker = spawn(process.execPath, [program("worker")], {
      env: {
        ...process.env,
        ...{ DATABASE_URL: world.url, REDIS_URL: "", PARKADE_LOG_LEVEL: "info" },
        ...{
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20hunter2",
        },
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    worker.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    try {
      await expect.poll(() => output.includes("worker ready")).toBe(true);
      await world.park(40);
      await world.request();
      await expect.poll(() => world.sink.effects().length).toBe(40);
      const lost = () =>
        output
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line) as Record<string, unknown>)
          .filter(({ msg }) => msg === "spans were not delivered");
      await expect.poll(() => lost().length).toBe(1);
      expect(lost()[0]).toMatchObject({ level: "warn", collector: new URL(collector.url).host });
      worker.kill("SIGTERM");
      const [code] = await once(worker, "exit");
      expect(code).toBe(0);
      expect(lost()).toHaveLength(1);
      expect(output).not.toContain("hunter2");
    } finally {
      worker.kill("SIGKILL");
      if (fault === "hangs") await collector.stop();
    }
  },
);
