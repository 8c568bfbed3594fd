import type { ProbeResult } from "@/lib/brokers/port";
import { parseSourceConfig, resolveSecrets, type SourceConfig } from "@/lib/contract/source-config";
import type { ProbeOut, ProbeRequest } from "@/lib/contract/sources";
import type { LowRateStore } from "@/lib/store/prisma";
import { unknownSource } from "@/lib/store/read/sources";

/** Somebody waits for the answer: a broker that is silent for longer counts as away. */
const PROBE_MS_MAX = 10_000;

export type ProbeDeps = {
  lowRate: LowRateStore;
  probe(source: SourceConfig, signal: AbortSignal): Promise<ProbeResult>;
  /** Where secrets by reference are found. */
  variables: Readonly<Record<string, string | undefined>>;
};

/** Can a stored source be reached, and what would be read? Throws DomainError `unknown-source` or `invalid-config`. */
export async function probeStoredSource(deps: ProbeDeps, name: string): Promise<ProbeOut> {
  const source = await deps.lowRate.read((client) => client.source.findUnique({ where: { name } }));
  if (!source) throw unknownSource(name);
  return probeSource(deps, { kind: source.kind, config: source.config as Record<string, unknown> });
}

/** The same for a configuration that is still being written. */
export async function probeSource(deps: ProbeDeps, { kind, config }: ProbeRequest): Promise<ProbeOut> {
  const source = resolveSecrets(parseSourceConfig(kind, config), deps.variables);
  const result = await deps.probe(source, AbortSignal.timeout(PROBE_MS_MAX)).catch((error: unknown): ProbeResult => {
    if (error instanceof DOMException && error.name === "TimeoutError") {
      return { reachable: false, detail: `no answer within ${PROBE_MS_MAX / 1000} s` };
    }
    throw error;
  });
  if (!result.reachable) return { reachable: false, detail: result.detail, depth: null, sample: [] };
  return { reachable: true, detail: result.detail, depth: result.depth, sample: result.sample };
}
