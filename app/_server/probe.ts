import type { ProbeDeps } from "@/lib/operations/probe-source";
import type { Deps } from "./deps";

export async function probeDeps(deps: Deps): Promise<ProbeDeps> {
  const brokers = await deps.brokers();
  return { lowRate: deps.lowRate, probe: brokers.probe, variables: process.env };
}
