import { mapSample } from "@/lib/brokers/probe-sample";
import type { ProbeDeps } from "@/lib/operations/probe-source";
import type { Deps } from "./deps";

export async function probeDeps({ db, lowRate, clock, probes, brokers }: Deps): Promise<ProbeDeps> {
  return { db, lowRate, clock, probes, probe: (await brokers()).probe, mapSample };
}
