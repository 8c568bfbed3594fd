import type { Deps } from "@/app/_server/deps";
import { parseSourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import type { CheckedEvent, OwnerCheck } from "@/lib/brokers/port";
import { within } from "@/lib/platform/clock";
import type { SampleDeps } from "@/lib/redrive/preview/sample-dry-run";
import type { TargetRow } from "@/lib/sources/targets/targets.read";

/** A person waits for the preview: of a target that is silent for longer, the preview says that nothing is known. */
const PROBE_MS_MAX = 800;
/** The same of a check call. */
const CHECK_CALL_MS_MAX = 1_000;
/** A dialog asks again with each change: a target is not asked each time. */
const PROBE_FRESH_MS = 5_000;

type Probed = Awaited<ReturnType<SampleDeps["probe"]>>;

const known = new Map<string, { atMs: number; result: Promise<Probed> }>();

/** What a preview's dry run needs of the web process. Schemas run in a thread, never in this one. */
export function sampleParts(deps: Deps): Pick<SampleDeps, "checkPayloads" | "askOwner" | "probe" | "leftOut"> {
  return {
    checkPayloads: deps.checkPayloads,
    askOwner: (row, events) => askOwner(deps, row, events),
    probe: (row) => probeOnce(deps, row),
    leftOut: async (row, messages) => {
      const [stored, brokers] = [parseSourceConfig(row.kind, row.config), await deps.brokers()];
      return messages.map((message) => brokers.leftOut(stored, message));
    },
  };
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

/** Check calls by target and its configuration: answers are kept between two previews. */
const ownerChecks = new Map<string, OwnerCheck | null>();
const OWNER_CHECKS_MAX = 50;

async function askOwner(deps: Deps, row: TargetRow, events: readonly CheckedEvent[]) {
  const key = `${row.id} ${row.revision}`;
  let ownerCheck = ownerChecks.get(key);
  if (ownerCheck === undefined) {
    const brokers = await deps.brokers();
    try {
      ownerCheck = brokers.ownerCheck(parseSourceConfig(row.kind, row.config));
    } catch (error) {
      // A secret that only the workers have.
      deps.log.debug({ target: row.name, err: error }, "a preview could not make a check call");
      return {
        answers: events.map(() => ({ unanswered: "this process cannot make the call" })),
        refusesUnanswered: false,
      };
    }
    ownerChecks.set(key, ownerCheck);
    const [oldest] = ownerChecks.keys();
    if (ownerChecks.size > OWNER_CHECKS_MAX) {
      void ownerChecks.get(oldest!)?.close();
      ownerChecks.delete(oldest!);
    }
  }
  if (ownerCheck === null) return null;
  const { refusesUnanswered } = ownerCheck;
  const ask = ownerCheck.ask;
  try {
    const answers = await within(deps.clock, CHECK_CALL_MS_MAX, (signal) => ask(events, signal));
    return { answers, refusesUnanswered };
  } catch {
    const unanswered = `no answer in ${CHECK_CALL_MS_MAX} ms, as long as a preview waits`;
    return { answers: events.map(() => ({ unanswered })), refusesUnanswered };
  }
}
