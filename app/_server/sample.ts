import { parseSourceConfig, targetAddress } from "@/lib/kinds/kinds";
import type { SampleDeps } from "@/lib/operations/sample-dry-run";
import { within } from "@/lib/platform/clock";
import type { TargetRow } from "@/lib/store/read/targets";
import type { Deps } from "./deps";

/** A person waits for the preview: of a target that is silent for longer, the preview says that nothing is known. */
const PROBE_MS_MAX = 800;
/** A dialog asks again with each change: a target is not asked each time. */
const PROBE_FRESH_MS = 5_000;

type Probed = Awaited<ReturnType<SampleDeps["probe"]>>;

const known = new Map<string, { atMs: number; result: Promise<Probed> }>();

/** What a preview's dry run needs of the web process. Schemas run in a thread, never in this one. */
export function sampleParts(deps: Deps): Pick<SampleDeps, "checkPayloads" | "probe"> {
  return { checkPayloads: deps.checkPayloads, probe: (row) => probeOnce(deps, row) };
}

function probeOnce(deps: Deps, row: TargetRow): Promise<Probed> {
  const key = `${row.id} ${row.revision}`;
  const nowMs = deps.clock.nowMs();
  const fresh = known.get(key);
  if (fresh && nowMs - fresh.atMs < PROBE_FRESH_MS) return fresh.result;
  for (const [old, { atMs }] of known) if (nowMs - atMs >= PROBE_FRESH_MS) known.delete(old);
  const result = probe(deps, row).catch((error: unknown) => {
    // A secret that only the workers have, or no answer in time: nothing is known, and the preview says so.
    deps.log.debug({ target: row.name, err: error }, "a preview could not ask a target");
    return null;
  });
  known.set(key, { atMs: nowMs, result });
  return result;
}

async function probe(deps: Deps, row: TargetRow): Promise<Probed> {
  const stored = parseSourceConfig(row.kind, row.config);
  if (targetAddress(stored, row.lane) === null) return null;
  const brokers = await deps.brokers();
  const publisher = brokers.publisher(stored, row.lane);
  try {
    const { reachable, detail } = await within(deps.clock, PROBE_MS_MAX, (signal) => publisher.probe(signal));
    return { reachable, detail };
  } finally {
    await publisher.close().catch(() => undefined);
  }
}
