import type { CheckAnswer, CheckedEvent } from "@/lib/brokers/port";
import type { PreviewRequest, SampleOut, SampleTarget } from "@/lib/contract/redrive-preview";
import { type DryRunFacts, dryRun } from "@/lib/core/dry-run";
import { gate } from "@/lib/core/gate";
import { iso } from "@/lib/core/iso-time";
import { DomainError } from "@/lib/core/problem";
import type { Deps } from "@/lib/operations/deps";
import type { SelectedForRedrive } from "@/lib/operations/judge-selection";
import { checkedEvent, type OwnerJudgement, ownerFinding } from "@/lib/redriving/ask-owner";
import type { PayloadChecker } from "@/lib/redriving/check-payload";
import { type Rules, readRules } from "@/lib/redriving/read-rules";
import type { Queryable } from "@/lib/store/db";
import { type EventBody, readBodies } from "@/lib/store/read/bodies";
import { type Candidate, sampleCandidates } from "@/lib/store/read/candidates";
import { readPlannedOrderFacts } from "@/lib/store/read/dry-run-facts";
import { readOpenBreakers } from "@/lib/store/read/stall-facts";
import { readTargets, type TargetRow } from "@/lib/store/read/targets";

/** Number of events that a preview examines. */
const SAMPLE_MAX = 50;
/** Maximum bytes of payloads in memory; an event whose payload would exceed it is left out of the sample. */
const SAMPLE_BYTES_MAX = 8 * 1024 * 1024;
const SAMPLE_TIMEOUT_MS = 1_500;
/** Refused events that the preview shows. */
const SAMPLES_MAX = 5;
/** Maximum number of targets of a selection whose connection is tested. */
const TARGETS_MAX = 8;

export type SampleDeps = Pick<Deps, "db" | "clock" | "log"> & {
  checkPayloads: PayloadChecker;
  /** What the target's owner answers, in the order of the events; null = they have no check endpoint. */
  askOwner(
    target: TargetRow,
    events: readonly CheckedEvent[],
  ): Promise<{ answers: CheckAnswer[]; refusesUnanswered: boolean } | null>;
  /** Whether this process can reach the target; null = no answer within the time limit. */
  probe(target: TargetRow): Promise<{ reachable: boolean; detail: string } | null>;
};

/** `target`: where all events go; null = to the target of each one's source on the lane. */
type SampleRequest = Pick<PreviewRequest, "lane" | "earlier"> & { target: TargetRow | null };

/**
 * The dry run of some of the selected events that no control refuses, spread over their time, with the state of the
 * targets. null = the time limit was over. The dry run cannot know how the target will answer, nor what changes before
 * the send.
 */
export async function sampleDryRun(
  deps: SampleDeps,
  request: SampleRequest,
  selected: SelectedForRedrive,
): Promise<SampleOut | null> {
  try {
    return await deps.db.transaction((tx) => examine(deps, tx, request, selected), {
      statementTimeoutMs: SAMPLE_TIMEOUT_MS,
      readOnly: true,
    });
  } catch (error) {
    if (error instanceof DomainError && error.code === "read-timeout") return null;
    throw error;
  }
}

async function examine(
  deps: SampleDeps,
  tx: Queryable,
  { lane, earlier, target }: SampleRequest,
  selected: SelectedForRedrive,
): Promise<SampleOut> {
  const rules = await readRules(tx);
  const events = chosen(await sampleCandidates(tx, selected, SAMPLE_MAX), rules, selected);
  const bodies = await readBodies(tx, events);
  const order = await readPlannedOrderFacts(tx, { ...selected, earlier: earlier ?? "hold" }, events);
  const own = (await readTargets(tx)).filter((row) => row.lane === lane);
  const ofSource = new Map(own.map((row) => [row.sourceId, row]));
  const sources = [...new Set(events.map(({ sourceId }) => sourceId))];
  const wanted = target === null ? sources.flatMap((id) => ofSource.get(id) ?? []) : events.length > 0 ? [target] : [];
  const targets = await targetStates(deps, tx, wanted);
  const targetOf = ({ sourceId }: Event) => target ?? ofSource.get(sourceId) ?? null;
  const sample: SampleOut = {
    checked: 0,
    wouldGo: 0,
    refused: {},
    samples: [],
    targets: targets.map(({ out }) => out),
  };
  // An event without a body was removed after it was selected.
  const held = events.flatMap((event) => {
    const body = bodies.get(event.id);
    const facts = targets.find(({ row }) => row.id === targetOf(event)?.id)?.facts;
    return body ? [{ event, body, facts }] : [];
  });
  const payloads = await deps.checkPayloads.inForce(
    tx,
    held.map(({ event: { sourceId }, body }) => ({ ...body, sourceId })),
  );
  const owners = await askOwners(deps, held, (event) => targetOf(event));
  for (const [index, { event, body, facts }] of held.entries()) {
    const verdict = dryRun({
      payload: { bytes: body.payload.byteLength, bytesMax: rules.settings.payloadBytesMax, ...payloads[index]! },
      target: facts ?? { fault: `its source has no target on the ${lane} lane` },
      version: event.version,
      ...order.get(event.id)!,
    });
    // The preview already counts all events behind earlier versions, so the sample takes other events.
    if (verdict.findings.some(({ check, ok }) => check === "aggregate-head" && ok === false)) continue;
    sample.checked++;
    const owner = owners.get(event.id);
    const refusal = verdict.kind === "refuse" ? verdict.refusal : (owner?.refusal ?? null);
    if (refusal === null) {
      sample.wouldGo++;
      continue;
    }
    sample.refused[refusal] = (sample.refused[refusal] ?? 0) + 1;
    if (sample.samples.length === SAMPLES_MAX) continue;
    const findings = [...verdict.findings, ...(owner ? [owner.finding] : [])].filter(({ ok }) => ok !== true);
    sample.samples.push({ id: event.id, eventId: event.eventId, refusal, findings });
  }
  return sample;
}

/** What the owners of the targets say of the sample, by event id. Those without a check endpoint say nothing. */
async function askOwners(
  deps: SampleDeps,
  held: readonly { event: Event; body: EventBody }[],
  targetOf: (event: Event) => TargetRow | null,
): Promise<Map<string, OwnerJudgement>> {
  const judged = new Map<string, OwnerJudgement>();
  const byTarget = Map.groupBy(held, ({ event }) => targetOf(event));
  await Promise.all(
    [...byTarget].map(async ([row, asked]) => {
      const said =
        row &&
        (await deps.askOwner(
          row,
          asked.map(({ event, body }) => checkedEvent(event, body)),
        ));
      if (!said) return;
      asked.forEach(({ event }, index) => {
        judged.set(event.id, ownerFinding(said.answers[index]!, said));
      });
    }),
  );
  return judged;
}

type Event = Omit<Candidate, "version"> & { version: bigint | null };

/** The events that no control and no limit refuses (the preview counts the refused ones), within the memory limit. */
function chosen(
  candidates: readonly (Candidate & { payloadBytes: number })[],
  rules: Rules,
  { asOfMs, despite }: SelectedForRedrive,
): Event[] {
  const events: Event[] = [];
  let bytes = 0;
  for (const candidate of candidates) {
    const ruling = gate(candidate, {
      controls: rules.index,
      redriveLimit: rules.settings.redriveLimit,
      nowMs: asOfMs,
      at: "request",
      despite,
    });
    bytes += candidate.payloadBytes;
    if (!ruling.pass || bytes > SAMPLE_BYTES_MAX) continue;
    events.push({ ...candidate, version: candidate.version === null ? null : BigInt(candidate.version) });
  }
  return events;
}

type TargetState = { row: TargetRow; facts: DryRunFacts["target"]; out: SampleTarget };

async function targetStates(deps: SampleDeps, tx: Queryable, targets: readonly TargetRow[]): Promise<TargetState[]> {
  const open = await readOpenBreakers(tx, targets, deps.clock.wallMs());
  return Promise.all(
    targets.map(async (row, index): Promise<TargetState> => {
      const breaker = open.find(({ target }) => target === row.name);
      const probed = index < TARGETS_MAX ? await deps.probe(row) : null;
      const facts = {
        name: row.name,
        reachable: probed?.reachable ?? null,
        detail: probed?.detail ?? "not asked: this process has no answer from the target",
        // A breaker that will let probes through refuses nothing: sends wait for it.
        breakerOpen: breaker?.forced === true,
      };
      const out: SampleTarget = {
        name: row.name,
        reachable: probed?.reachable ?? null,
        detail: probed?.detail ?? null,
        breaker: breaker ? (breaker.forced ? "held-open" : "open") : "closed",
        breakerUntil: breaker?.untilMs == null ? null : iso(breaker.untilMs),
      };
      return { row, facts, out };
    }),
  );
}
