import type { CheckAnswer, CheckedEvent } from "@/lib/brokers/port";
import { readSettings } from "@/lib/guard/settings/settings.read";
import type { Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { aggregateKeyOf, versionOut } from "@/lib/order/aggregate.pure";
import { type Earlier, type EndedItem, heldBehind } from "@/lib/order/order-gate.pure";
import { skippedAmong } from "@/lib/order/tails/tails.read";
import type { Queryable } from "@/lib/platform/database/db";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { type Check, type DryRunFacts, dryRun, withFix } from "@/lib/redrive/gate/dry-run.pure";
import { readPlannedOrderFacts } from "@/lib/redrive/gate/dry-run-facts.read";
import { readOpenBreakers } from "@/lib/redrive/life/stall-facts.read";
import { readRedrive } from "@/lib/redrive/list/redrives.read";
import { FREEZE_INLINE_MAX, versionOf } from "@/lib/redrive/plan/freeze-chunk";
import type { PlannedItem } from "@/lib/redrive/plan/freeze-events.write";
import type { SelectedForRedrive } from "@/lib/redrive/plan/plan-selection";
import { aggregateRuns } from "@/lib/redrive/plan/redrive-plan.pure";
import type { PreviewRequest, SampleOut, SampleTarget } from "@/lib/redrive/preview/redrive-preview.shapes";
import { checkedEvent, type OwnerJudgement, ownerFinding } from "@/lib/redrive/run/ask-owner";
import { type EventBody, readBodies } from "@/lib/selection/bodies.read";
import { type Candidate, cutoffOf, readCandidates, readPayloadBytes } from "@/lib/selection/candidates.read";
import { scopeSelection } from "@/lib/selection/scope.shapes";
import type { PayloadChecker } from "@/lib/sources/schemas/check-payload";
import { redriveTarget } from "@/lib/sources/targets/redrive-target";
import { readTargets, type TargetRow } from "@/lib/sources/targets/targets.read";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";
import type { Refusal } from "@/lib/states/refusal.pure";

/** Number of events that a preview examines: a selection that sends no more is examined whole. */
const SAMPLE_MAX = 50;
/** Maximum bytes of payloads in memory; an event whose payload would exceed it is left out of the sample. */
const SAMPLE_BYTES_MAX = 8 * 1024 * 1024;
const READ_ONLY = { statementTimeoutMs: 1_500, readOnly: true };
/** Refused events that the preview shows. */
const SAMPLES_MAX = 5;
/** Different warnings that the preview shows. */
const WARNINGS_MAX = 5;
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
  /** The headers that the target's protocol cannot carry, for each message. */
  leftOut(target: TargetRow, messages: readonly EventBody[]): Promise<string[][]>;
};

/** `target`: where all events go; null = to the target of each one's source on the lane. */
type SampleRequest = Pick<PreviewRequest, "lane" | "earlier"> & { target: TargetRow | null };

/**
 * `refusals`: when every event that may go was examined, those that the dry run refuses by id, whatever the state of the
 * targets now, since a send waits for its target. null = some were not examined.
 */
type Sampled = { out: SampleOut; refusals: ReadonlyMap<string, Refusal> | null };

/** `whole`: every event that the redrive plans is among those planned here. */
type ToSample = { selected: SelectedForRedrive; planned: readonly PlannedItem[]; whole: boolean };

/**
 * The dry run of planned events that the gate and the order let go, the first of each aggregate before its later ones,
 * with the state of the targets. It cannot know how the target will answer, nor what changes before the send. Throws
 * DomainError `read-timeout`.
 */
export async function sampleDryRun(deps: SampleDeps, request: SampleRequest, of: ToSample): Promise<Sampled> {
  const facts = await deps.db.transaction((tx) => readFacts(tx, request, of), READ_ONLY);
  return examine(deps, request, facts);
}

/**
 * The same of what a redrive has frozen and not ended, for who approves it. It asks targets and their owners, so it needs
 * the right to redrive. Throws DomainError `forbidden`, `unknown-redrive`,
 * `read-timeout`.
 */
export async function sampleFrozen(deps: SampleDeps, id: string, viewer: Viewer): Promise<SampleOut> {
  const asOfMs = deps.clock.wallMs();
  const { lane, earlier, despite, ...redrive } = await readRedrive(deps.db, viewer, id, asOfMs);
  const target = await redriveTarget(deps.db, viewer, redrive.target);
  const selection = scopeSelection(viewer, "redrive", { redrive: id, outcome: ["open"] });
  const selected = { selection, asOfMs, cutoff: cutoffOf(selection, asOfMs), despite };
  const facts = await deps.db.transaction(async (tx) => {
    const frozen = await readCandidates(tx, { ...selected, after: null, limit: FREEZE_INLINE_MAX });
    const planned = frozen.map((candidate) => ({ candidate, refusal: null, detail: null }));
    return readFacts(tx, { lane, earlier, target }, { selected, planned, whole: true });
  }, READ_ONLY);
  return (await examine(deps, { lane, earlier, target }, facts)).out;
}

/** An event of the sample. `refusalIfTargetsReady`: its refusal if every target took sends now. */
type Examined = {
  event: Event;
  findings: Check[];
  refusal: Refusal | null;
  refusalIfTargetsReady: Refusal | null;
};

/** The facts from the store. Targets, owners and the schema sandbox are called after its transaction: they may take seconds. */
type Facts = {
  /** With their bodies. An event without a body was removed after it was selected. */
  held: { event: Event; body: EventBody }[];
  targets: TargetRow[];
  openBreakers: Awaited<ReturnType<typeof readOpenBreakers>>;
  targetOf: (event: Event) => TargetRow | null;
  order: Awaited<ReturnType<typeof readPlannedOrderFacts>>;
  skipped: ReadonlySet<string>;
  bytesMax: number;
  despite: SelectedForRedrive["despite"];
  /** Every event that can be sent is among them. */
  whole: boolean;
};

async function readFacts(
  tx: Queryable,
  { lane, target }: SampleRequest,
  { selected, planned, whole }: ToSample,
): Promise<Facts> {
  const passing = planned.flatMap(({ candidate, refusal }) =>
    refusal === null ? [{ ...candidate, version: versionOf(candidate) }] : [],
  );
  const events = await firstOfEach(tx, passing);
  const own = (await readTargets(tx)).filter((row) => row.lane === lane);
  const ofSource = new Map(own.map((row) => [row.sourceId, row]));
  const sources = [...new Set(events.map(({ sourceId }) => sourceId))];
  const wanted = target === null ? sources.flatMap((id) => ofSource.get(id) ?? []) : events.length > 0 ? [target] : [];
  const bodies = await readBodies(tx, events);
  const held = events.flatMap((event) => {
    const body = bodies.get(event.id);
    return body ? [{ event, body }] : [];
  });
  const { payloadBytesMax } = await readSettings(tx);
  return {
    held,
    targets: wanted,
    openBreakers: await readOpenBreakers(tx, wanted, selected.asOfMs),
    targetOf: ({ sourceId }) => target ?? ofSource.get(sourceId) ?? null,
    order: await readPlannedOrderFacts(tx, events),
    skipped: await skippedAmong(
      tx,
      held.map(({ event }) => event.id),
    ),
    bytesMax: payloadBytesMax,
    despite: selected.despite,
    whole: whole && held.length === passing.length,
  };
}

async function examine(deps: SampleDeps, { lane, earlier = "hold" }: SampleRequest, facts: Facts): Promise<Sampled> {
  const targets = await targetStates(deps, facts);
  const examined = await examineEach(deps, { ...facts, states: targets, lane });
  const { skipped, whole } = facts;
  const ends = endsOf(examined, skipped, earlier, ({ refusal }) => refusal);
  return {
    out: { ...summary(examined, ends), whole, targets: targets.map(({ out }) => out) },
    refusals: whole
      ? refusalsOf(endsOf(examined, skipped, earlier, ({ refusalIfTargetsReady }) => refusalIfTargetsReady))
      : null,
  };
}

/**
 * Up to SAMPLE_MAX of the events within the memory limit: the first event of each aggregate, then the second ones and so
 * on. An event is not among them without those before it; where there are too many, they are spread over their order.
 */
async function firstOfEach(tx: Queryable, passing: readonly Event[]): Promise<Event[]> {
  const runs = aggregateRuns(passing);
  const chosen: Event[] = [];
  for (let place = 0; chosen.length < SAMPLE_MAX; place++) {
    const next = runs.flatMap((run) => run[place] ?? []);
    if (next.length === 0) break;
    const count = Math.min(next.length, SAMPLE_MAX - chosen.length);
    for (let index = 0; index < count; index++) chosen.push(next[Math.floor((index * next.length) / count)]!);
  }
  const sizes = await readPayloadBytes(
    tx,
    chosen.map(({ id }) => id),
  );
  const tooLarge = new Set<string>();
  let bytes = 0;
  return chosen.filter((event) => {
    const key = aggregateKeyOf(event) ?? event.id;
    bytes += sizes.get(event.id) ?? 0;
    if (bytes > SAMPLE_BYTES_MAX) tooLarge.add(key);
    return !tooLarge.has(key);
  });
}

async function examineEach(
  deps: SampleDeps,
  { held, targetOf, order, bytesMax, despite, states, lane }: Facts & { states: readonly TargetState[]; lane: string },
): Promise<Examined[]> {
  const checked = await deps.checkPayloads.inForce(
    deps.db,
    held.map(({ event: { sourceId }, body }) => ({ ...body, sourceId })),
  );
  const checks = new Map(held.map(({ event }, index) => [event.id, checked[index]!]));
  const owners = await ofTargets<OwnerJudgement>({ held, targetOf }, async (target, events) => {
    const asked = events.map(({ event, body }) => checkedEvent(event, body));
    const said = await deps.askOwner(target, asked);
    return said === null ? null : said.answers.map((answer) => ownerFinding(answer, said));
  });
  const leftOut = await ofTargets({ held, targetOf }, (target, events) =>
    deps.leftOut(
      target,
      events.map(({ body }) => body),
    ),
  );
  return held.map(({ event, body }) => {
    const facts = states.find(({ row }) => row.id === targetOf(event)?.id)?.facts;
    const verdictAt = (target: DryRunFacts["target"]) =>
      dryRun({
        payload: { bytes: body.payload.byteLength, bytesMax, ...checks.get(event.id)! },
        target,
        version: event.version,
        leftOut: leftOut.get(event.id) ?? [],
        despite,
        ...order.get(event.id)!,
      });
    const owner = owners.get(event.id);
    const refusalAt = (target: DryRunFacts["target"]) => {
      const verdict = verdictAt(target);
      return verdict.kind === "refuse" ? verdict.refusal : (owner?.refusal ?? null);
    };
    const target = facts ?? { fault: `its source has no target on the ${lane} lane` };
    return {
      event,
      findings: [...verdictAt(target).findings, ...(owner ? [owner.finding] : [])],
      refusal: refusalAt(target),
      refusalIfTargetsReady: refusalAt("fault" in target ? target : { ...target, reachable: null, breakerOpen: false }),
    };
  });
}

type End = { outcome: ItemOutcome; examined: Examined };

/** How each event would end, in the order of its aggregate: a refused one holds those behind it, as it does in a send. */
function endsOf(
  examined: readonly Examined[],
  skipped: ReadonlySet<string>,
  earlier: Earlier,
  refusalOf: (examined: Examined) => Refusal | null,
): Map<string, End> {
  const ends = new Map<string, End>();
  const runs = aggregateRuns(examined.map((each) => ({ ...each.event, examined: each })));
  for (const run of runs) {
    const ended: EndedItem[] = [];
    for (const { examined: each, ...event } of run) {
      const refusal = refusalOf(each);
      const held = ended.map((before) => heldBehind(before, event, earlier)).find((outcome) => outcome !== null);
      const outcome: ItemOutcome =
        held ?? (refusal === null ? { kind: "verified" } : { kind: "refused", refusal, detail: "" });
      ends.set(event.id, { outcome, examined: each });
      ended.push({ ...event, skipped: skipped.has(event.id), outcome });
    }
  }
  return ends;
}

function refusalsOf(ends: ReadonlyMap<string, End>): Map<string, Refusal> {
  return new Map(
    [...ends].flatMap(([id, { outcome }]): [string, Refusal][] =>
      outcome.kind === "refused" ? [[id, outcome.refusal]] : [],
    ),
  );
}

function summary(
  examined: readonly Examined[],
  ends: ReadonlyMap<string, End>,
): Pick<SampleOut, "checked" | "wouldGo" | "refused" | "samples" | "warnings"> {
  const refused: Record<string, number> = {};
  for (const refusal of refusalsOf(ends).values()) refused[refusal] = (refused[refusal] ?? 0) + 1;
  const stopped = [...ends.values()].flatMap(({ outcome, examined: each }) =>
    outcome.kind === "refused" ? [{ ...outcome, each }] : [],
  );
  // What is held names the event before it; that event says what is wrong.
  const causes = stopped.filter(({ each }) => each.refusal !== null);
  const shown = [...causes, ...stopped.filter(({ each }) => each.refusal === null)].slice(0, SAMPLES_MAX);
  return {
    checked: examined.length,
    wouldGo: examined.length - stopped.length,
    refused,
    warnings: warningsOf(examined),
    samples: shown.map(({ refusal, detail, each: { event, findings } }) => ({
      id: event.id,
      eventId: event.eventId,
      version: event.version === null ? null : versionOut(`${event.version}`),
      refusal,
      findings:
        refusal === "held-by-head"
          ? [withFix({ check: "aggregate-head", ok: false, detail }, refusal)]
          : findings.filter(({ ok }) => ok !== true),
    })),
  };
}

/** Each warning once, with the number of events that it is about; the most frequent first. */
function warningsOf(examined: readonly Examined[]): SampleOut["warnings"] {
  const counts = new Map<string, SampleOut["warnings"][number]>();
  for (const { check, detail, warning } of examined.flatMap(({ findings }) => findings)) {
    if (!warning) continue;
    const key = `${check} ${detail}`;
    counts.set(key, { check, detail, events: (counts.get(key)?.events ?? 0) + 1 });
  }
  return [...counts.values()].sort((a, b) => b.events - a.events).slice(0, WARNINGS_MAX);
}

type Held = Facts["held"];

/** What is said of the events of each target, by event id. Those of a target that says nothing are left out. */
async function ofTargets<Said>(
  { held, targetOf }: Pick<Facts, "held" | "targetOf">,
  ask: (target: TargetRow, events: Held) => Promise<readonly Said[] | null>,
): Promise<Map<string, Said>> {
  const found = new Map<string, Said>();
  const byTarget = Map.groupBy(held, ({ event }) => targetOf(event));
  await Promise.all(
    [...byTarget].map(async ([target, events]) => {
      const said = target && (await ask(target, events));
      said?.forEach((each, index) => {
        found.set(events[index]!.event.id, each);
      });
    }),
  );
  return found;
}

type Event = Omit<Candidate, "version"> & { version: bigint | null };

type TargetState = { row: TargetRow; facts: DryRunFacts["target"]; out: SampleTarget };

async function targetStates(
  deps: SampleDeps,
  { targets, openBreakers }: Pick<Facts, "targets" | "openBreakers">,
): Promise<TargetState[]> {
  return Promise.all(
    targets.map(async (row, index): Promise<TargetState> => {
      const breaker = openBreakers.find(({ target }) => target === row.name);
      const probed = index < TARGETS_MAX ? await deps.probe(row) : null;
      const facts = {
        name: row.name,
        reachable: probed?.reachable ?? null,
        detail: probed?.detail ?? "not asked: this process has no answer from the target",
        // A breaker that will let probes through refuses nothing: sends wait for it.
        breakerOpen: breaker?.forced === true,
        retryable: row.retryable,
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
