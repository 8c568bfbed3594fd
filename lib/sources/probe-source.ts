import { assertNoNewPlainSecret } from "@/lib/brokers/kinds/config-limits.shapes";
import { redactConfig, restoreMasked } from "@/lib/brokers/kinds/config-secrets.shapes";
import { configAt } from "@/lib/brokers/kinds/destination.shapes";
import type { Mapping } from "@/lib/brokers/kinds/fields.shapes";
import { parseSourceConfig, type SourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import type { ProbeResult, ProbeSample, SampledMessage, SampleFacts } from "@/lib/brokers/port";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import { maskBody, maskHeaders, maskTags } from "@/lib/guard/masking/mask.pure";
import { type MaskSet, setFor } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import type { ConfigLimits } from "@/lib/guard/redaction/secret-references.pure";
import { unknownSource } from "@/lib/guard/viewer/source-names.read";
import { assertMay, may, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { atMost, type Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import type { Target } from "@/lib/platform/database/generated/client";
import type { LowRateStore } from "@/lib/platform/database/prisma";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import type { CachePolicy, ResponseCache } from "@/lib/retry/cache/response-cache";
import { parseEditedConfig, parseEditedMapping } from "@/lib/sources/edited-config.shapes";
import type { MappingPreview, MappingPreviewRequest, ProbeOut, ProbeRequest } from "@/lib/sources/sources.shapes";

/** A person waits for the answer: a broker that is silent for longer counts as unreachable. */
const PROBE_MS_MAX = 10_000;

/** A second press of the button opens no second connection. A broker that was just repaired is seen after this time. */
export const PROBES_KEPT: CachePolicy = { entriesMax: 100, ttlMs: 2_000, staleMs: 0 };

type Lane = "main" | "slow" | null;

export type ProbeDeps = {
  db: Db;
  lowRate: LowRateStore;
  clock: Clock;
  env: Pick<ConfigLimits, "plainSecretMode">;
  probes: ResponseCache<ProbeOut>;
  probe(source: SourceConfig, signal: AbortSignal): Promise<ProbeResult>;
  /** Whether a redrive could be delivered there; a named target has no lane, and its destination in `source`. */
  probeTarget(source: SourceConfig, lane: Lane, signal: AbortSignal): Promise<ProbeResult>;
  mapSample(sample: { message: SampledMessage; customary: SampleFacts }, mapping: Mapping): SampleFacts;
};

/**
 * Reports whether a stored source and each of its targets can be reached, and what Parkade would read from it. `config`:
 * edited settings, in which a masked value stands for the stored one. A viewer who asks again within two seconds gets the
 * same answer, unless the source was changed. Throws DomainError `unknown-source` or `invalid-config`.
 */
export async function probeStoredSource(
  deps: ProbeDeps,
  { name, config }: { name: string; config?: Record<string, unknown> | undefined },
  viewer: Viewer,
): Promise<ProbeOut> {
  assertMay(viewer, "change-source", [name]);
  const found = await deps.lowRate.read((client) =>
    client.source.findUnique({ where: { name }, include: { targets: { orderBy: { name: "asc" } } } }),
  );
  if (!found) throw unknownSource(name);
  const { targets, ...stored } = found;
  if (config !== undefined) {
    const before = stored.config as Record<string, unknown>;
    const source = parseEditedConfig(stored.kind, restoreMasked(stored.kind, config, before));
    assertNoNewPlainSecret(source, deps.env, before);
    return probe(deps, { source, name, targets }, viewer);
  }
  const source = parseSourceConfig(stored.kind, stored.config);
  // The viewer's name: the audit names everybody who got an answer.
  const key = JSON.stringify([
    stored.id,
    stored.updatedAt,
    targets.map(({ id, updatedAt }) => [id, updatedAt]),
    viewer,
  ]);
  return (await deps.probes.through(key, () => probe(deps, { source, name, targets }, viewer))).value;
}

/** The same for a configuration that is not stored yet. */
export async function probeSource(deps: ProbeDeps, { kind, config }: ProbeRequest, viewer: Viewer): Promise<ProbeOut> {
  assertMay(viewer, "change-source");
  const source = parseEditedConfig(kind, restoreMasked(kind, config, null));
  assertNoNewPlainSecret(source, deps.env, null);
  return probe(deps, { source, name: null, targets: [] }, viewer);
}

type Probed = { source: SourceConfig; name: string | null; targets: readonly Target[] };

/** A probe connects to any address that the caller names, and may send secrets, so actor and address are audited first. */
async function probe(deps: ProbeDeps, probed: Probed, viewer: Viewer): Promise<ProbeOut> {
  const { source, name } = probed;
  await deps.db.transaction((tx) =>
    appendAudit(tx, {
      actor: viewer.name,
      action: "source.probed",
      subjectId: name,
      after: { kind: source.kind, config: redactConfig(source.kind, source.config) },
      atMs: deps.clock.wallMs(),
    }),
  );
  const [result, targets] = await Promise.all([
    bounded(deps, (signal) => deps.probe(source, signal)),
    probeTargets(deps, probed),
  ]);
  const { reachable, detail } = result;
  if (!result.reachable) return { reachable, detail, depth: null, sample: [], targets };
  const set = setFor((await readMasks(deps.db)).of(name), may(viewer, "reveal"));
  const sample = result.sample.map((one) => masked(one, { map: deps.mapSample, mapping: mappingOf(source), set }));
  return { reachable, detail, depth: result.depth, sample, targets };
}

/** A target that cannot be opened is not reached: its fault is said beside it, and the others are probed. */
async function probeTarget(deps: ProbeDeps, source: SourceConfig, { lane, destination }: Target): Promise<Reached> {
  try {
    const at =
      destination === null
        ? source
        : parseSourceConfig(source.kind, configAt(source, destination as Record<string, unknown>));
    if (targetAddress(at, lane as Lane) === null)
      return { reachable: false, detail: "it has no destination: redrives are refused" };
    const { reachable, detail } = await bounded(deps, (signal) => deps.probeTarget(at, lane as Lane, signal));
    return { reachable, detail };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return { reachable: false, detail: error.message };
  }
}

type Reached = { reachable: boolean; detail: string };

/** A slow lane without a destination of its own is its main lane: one probe tells of both. */
function probeTargets(deps: ProbeDeps, { source, targets }: Probed): Promise<ProbeOut["targets"]> {
  const shared = targetAddress(source, "main") === targetAddress(source, "slow");
  const known = new Map<string, Promise<Reached>>();
  return Promise.all(
    targets.map(async (target) => {
      const key = target.lane !== null && shared ? "lanes" : target.id;
      const probing = known.get(key) ?? probeTarget(deps, source, target);
      known.set(key, probing);
      return { name: target.name, ...(await probing) };
    }),
  );
}

function mappingOf(source: SourceConfig): Mapping {
  return source.config.mapping ?? {};
}

type Masking = { map: ProbeDeps["mapSample"]; mapping: Mapping; set: MaskSet };

/** The sample with what the rules mask replaced where it stands, and mapped anew, so that no mapping selects a masked value. */
function masked(sample: ProbeSample, { map, mapping, set }: Masking): ProbeSample {
  const { headers, properties, payload } = sample.message;
  const message = {
    headers: maskHeaders(headers, set),
    properties: maskTags(properties, set),
    payload: payload === null ? null : maskBody(payload, set).text,
  };
  const mapped = { ...sample, ...map({ message, customary: sample.customary }, mapping), message };
  return { ...mapped, tags: maskTags(mapped.tags, set) };
}

/** The facts of sampled messages under a mapping. No broker is asked. Throws DomainError `invalid-config`. */
export function previewMapping(
  { mapSample }: Pick<ProbeDeps, "mapSample">,
  { mapping, samples }: MappingPreviewRequest,
  viewer: Viewer,
): MappingPreview {
  assertMay(viewer, "change-source");
  const parsed = parseEditedMapping(mapping);
  return { samples: samples.map((sample) => mapSample(sample, parsed)) };
}

/** The time limit holds even when the adapter ignores its signal: a broker may accept a connection and stay silent. */
async function bounded(
  { clock }: Pick<ProbeDeps, "clock">,
  probe: (signal: AbortSignal) => Promise<ProbeResult>,
): Promise<ProbeResult> {
  const late = new AbortController();
  const result = await atMost(clock, PROBE_MS_MAX, probe(late.signal));
  if (result !== null) return result;
  late.abort(new Error("the probe took too long"));
  return { reachable: false, detail: `no answer within ${PROBE_MS_MAX / 1_000} s` };
}
