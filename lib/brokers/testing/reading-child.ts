import { appendFileSync } from "node:fs";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { brokerRegistry } from "@/lib/brokers/registry";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

/**
 * A worker process that reads one source, for tests that kill it. What stands for the commit is a line in a file for
 * each message: its payload and event id. `dies`: kills itself with SIGKILL in its first batch, before the commit, or after it and before the
 * acknowledgement; `never` = it reads on.
 */
export type ReadingChild = {
  kind: string;
  config: unknown;
  file: string;
  dies: "before-commit" | "before-acknowledgement" | "never";
};

const { kind, config, file, dies } = JSON.parse(process.argv[2]!) as ReadingChild;
const registry = brokerRegistry({
  clock: systemClock,
  random: Math.random,
  secrets: { variables: {}, listed: [] },
  report: (what, error) => console.error(what, error),
});
const park = async (batch: DeadLetter[]) => {
  if (dies === "before-commit") process.kill(process.pid, "SIGKILL");
  const lines = batch.map(({ payload, eventId }) => `${Buffer.from(payload).toString("base64")} ${eventId}\n`);
  appendFileSync(file, lines.join(""));
  if (dies === "before-acknowledgement") process.kill(process.pid, "SIGKILL");
};
registry.consume(parseSourceConfig(kind, config), park, { name: "conformance" });
