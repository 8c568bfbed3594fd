import type { Deps } from "@/app/_server/deps";
import { mapSample } from "@/lib/brokers/probe-sample";
import type { ProbeDeps } from "@/lib/sources/probe-source";

export async function probeDeps({ db, lowRate, clock, env, probes, brokers }: Deps): Promise<ProbeDeps> {
  const { probe, publisher } = await brokers();
  const probeTarget: ProbeDeps["probeTarget"] = async (source, lane, signal) => {
    const opened = publisher(source, lane);
    try {
      return await opened.probe(signal);
    } finally {
      await opened.close().catch(() => undefined);
    }
  };
  return { db, lowRate, clock, env, probes, probe, probeTarget, mapSample };
}
