import type { Settings } from "@/lib/guard/settings/settings.pure";
import { type Check, type DryRunFacts, dryRun, type OrderFacts } from "@/lib/redrive/gate/dry-run.pure";
import { readOrderFacts } from "@/lib/redrive/gate/dry-run-facts.read";
import { type GateRules, gate, gateChecks } from "@/lib/redrive/gate/gate.pure";
import { type Rules, readRulesOver } from "@/lib/redrive/gate/read-rules";
import { askOwners, type ItemToAsk } from "@/lib/redrive/run/ask-owner";
import { type Route, type RouteFacts, routeOf } from "@/lib/redrive/run/fallback.pure";
import type { Redriver } from "@/lib/redrive/run/redriver";
import type { Session } from "@/lib/redrive/run/session";
import { readEarlierAttempts } from "@/lib/redrive/run/store/intents.write";
import type { SliceItem } from "@/lib/redrive/run/store/slice-items.read";
import { readSentTo, type SentTo } from "@/lib/redrive/targets/routes.read";
import type { NoTarget, SliceTarget } from "@/lib/redrive/targets/target";
import type { TargetHealth } from "@/lib/redrive/targets/target-health";
import { type EventBody, readBodies } from "@/lib/selection/bodies.read";
import type { PayloadCheck } from "@/lib/sources/schemas/check-payload";
import type { TargetRow } from "@/lib/sources/targets/targets.read";
import type { ItemOutcome } from "@/lib/states/item-outcome.pure";

/** A person who holds a breaker open may let it go again: its items wait this long before they are refused. */
const FORCED_OPEN_HOLD_MS = 60_000;
/** An open breaker lets probes through by itself: items wait for that, unless it is further away than this. */
export const BREAKER_WAIT_MS_MAX = 15 * 60_000;

/** An item with everything that was decided about it before the send. */
export type ExaminedItem = {
  item: SliceItem;
  findings: Check[];
  settings: Settings;
  /** Ended before a send (or handed back), else what to send and where. */
  decided: ItemOutcome | null;
  send: Send | null;
};

type Send = {
  target: SliceTarget;
  /** Takes what its target's retry budget has no retry for; null = there is none, or it is the target already. */
  standIn: SliceTarget | null;
  body: EventBody;
  whitelisted: boolean;
  /** It is sent ahead of parked versions. */
  passes: boolean;
  ambiguous: boolean;
  /** Earlier attempts that found no target. */
  unreached: number;
};

type Examined = { items: ExaminedItem[]; held: boolean };

/** Gate and dry run of a page: batched reads, then pure decisions. */
export async function examineItems(
  redriver: Redriver,
  session: Session,
  page: readonly SliceItem[],
  signal: AbortSignal,
): Promise<Examined> {
  const rules = await readRulesOver(redriver.keyedDb, page);
  const bodies = await readBodies(redriver.keyedDb, page);
  const order = await readOrderFacts(redriver.keyedDb, session.redrive(), page);
  // Under the first epoch of a slice no attempt is on record that its item does not count.
  const resumed = await readEarlierAttempts(
    redriver.keyedDb,
    session.redrive().id,
    page.flatMap((item) => (item.fence > 1n || item.attempts > 0 ? item.id : [])),
  );
  const targets = await findTargets(redriver, session, page);
  const sentTo = await readSentTo(
    redriver.keyedDb,
    session.redrive().id,
    page.filter((item) => hasStandIn(targets.get(item.sourceId)!)),
  );
  const checks = await checkBodies(redriver, page, bodies);
  const nowMs = redriver.clock.wallMs();
  const items = page.map((item) => {
    const earlier = resumed.get(item.id);
    const attempts = Math.max(item.attempts, earlier?.attempt ?? 0);
    const facts: ItemToExamine = {
      item: { ...item, attempts },
      ambiguous: earlier?.sent ?? false,
      unreached: earlier?.unreached ?? 0,
      body: bodies.get(item.id),
      check: checks.get(item.id),
      order: order.get(item.id)!,
      target: targets.get(item.sourceId)!,
      sentTo: sentTo.get(item.id) ?? { sentTo: null, aggregateSentTo: null },
      unreachableHoldMs: redriver.paces.unreachableHoldMs,
    };
    return examine(session, facts, rules, nowMs);
  });
  const answered = await askOwners(
    items.flatMap((examined) => toAsk(session, examined, bodies, targets) ?? []),
    signal,
  );
  const judged = items.map((examined) => answered.get(examined.item.id) ?? examined);
  return { items: judged, held: items.some(({ decided }) => decided?.kind === "back") };
}

/** What would be sent is asked about; in a dry run everything that has a body and a target. */
function toAsk(
  session: Session,
  examined: ExaminedItem,
  bodies: Map<string, EventBody>,
  targets: Map<string, FoundTarget>,
): ItemToAsk | null {
  const { item, send } = examined;
  if (send) return { examined, target: send.target, body: send.body };
  const [body, found] = [bodies.get(item.id), targets.get(item.sourceId)!];
  if (session.redrive().mode !== "verify" || !body || "fault" in found) return null;
  return { examined, target: found.target, body };
}

type Healthy = { target: SliceTarget; health: TargetHealth };
type FoundTarget = (Healthy & { standIn: Healthy | null }) | NoTarget;

async function findTargets(
  redriver: Redriver,
  session: Session,
  page: readonly SliceItem[],
): Promise<Map<string, FoundTarget>> {
  const sources = [...new Set(page.map((item) => item.sourceId))];
  const found = await Promise.all(
    sources.map(async (sourceId): Promise<[string, FoundTarget]> => {
      const target = await redriver.targets.find(sourceId, session.redrive());
      if ("fault" in target) return [sourceId, target];
      const other = session.redrive().mode === "verify" ? null : redriver.targets.standIn(target, session.redrive());
      const standIn = other && { target: other, health: await other.health() };
      return [sourceId, { target, health: await target.health(), standIn }];
    }),
  );
  return new Map(found);
}

async function checkBodies(
  redriver: Redriver,
  page: readonly SliceItem[],
  bodies: Map<string, EventBody>,
): Promise<Map<string, PayloadCheck>> {
  const present = page.flatMap(({ id, sourceId }) => {
    const body = bodies.get(id);
    return body ? [{ id, payload: { ...body, sourceId } }] : [];
  });
  const checks = await redriver.checkPayloads.inForce(
    redriver.keyedDb,
    present.map(({ payload }) => payload),
  );
  return new Map(present.map(({ id }, index) => [id, checks[index]!]));
}

type ItemToExamine = {
  item: SliceItem;
  ambiguous: boolean;
  unreached: number;
  body: EventBody | undefined;
  /** There is one when there is a body. */
  check: PayloadCheck | undefined;
  order: OrderFacts;
  target: FoundTarget;
  sentTo: SentTo;
  unreachableHoldMs: number;
};

function examine(session: Session, facts: ItemToExamine, rules: Rules, nowMs: number): ExaminedItem {
  const { item, body } = facts;
  const base = { item, settings: rules.settings, findings: [], send: null };
  const gateRules: GateRules = {
    controls: rules.index,
    redriveLimit: rules.settings.redriveLimit,
    nowMs,
    at: "run",
    despite: session.redrive().despite,
  };
  const ruling = gate(item, gateRules);
  if (!ruling.pass) {
    const found = body ? dryRunOf(facts, rules, ownOf(facts), gateRules.despite).findings : [];
    const findings = [...gateChecks(item, gateRules), ...found];
    return { ...base, findings, decided: { kind: "refused", refusal: ruling.refusal, detail: "" } };
  }
  if (!body) return { ...base, decided: { kind: "refused", refusal: "not-found", detail: "its body is gone" } };
  const verify = session.redrive().mode === "verify";
  const own = ownOf(facts);
  const route: Route = own && !verify ? routeOf(routeFacts(own, facts)) : { kind: "own" };
  if (route.kind === "wait") return { ...base, decided: { kind: "later", waitMs: route.waitMs } };
  const open = route.kind === "stand-in" ? own!.standIn! : own;
  if (!verify && holds(open?.health)) return { ...base, decided: { kind: "back" } };
  const verdict = dryRunOf(facts, rules, open, gateRules.despite);
  if (verdict.kind === "wait") return { ...base, decided: { kind: "behind" } };
  const stoodIn = open === own ? [] : [standInFinding(own!, open!)];
  // What is sent has passed the gate: only a person who asks with a dry run is shown each of its rules.
  const ofGate = verify ? gateChecks(item, gateRules) : [];
  const judged = { ...base, findings: [...ofGate, ...verdict.findings, ...stoodIn] };
  switch (verdict.kind) {
    case "already-processed":
      // The consumer's inbox has seen this key: the operation is not run.
      if (!verify && open) open.target.state.counters.dedupDropped++;
      return {
        ...judged,
        decided: verify ? { kind: "verified" } : { kind: "already-processed", detail: verdict.detail },
      };
    case "refuse":
      return { ...judged, decided: { kind: "refused", refusal: verdict.refusal, detail: verdict.detail } };
    case "send": {
      if (verify) return { ...judged, decided: { kind: "verified" } };
      const { target } = open!;
      return {
        ...judged,
        decided: null,
        send: {
          target,
          standIn: open === own && takes(own!.standIn) ? own!.standIn!.target : null,
          body,
          whitelisted: ruling.whitelisted,
          passes: session.redrive().earlier === "pass",
          ambiguous: facts.ambiguous,
          unreached: facts.unreached,
        },
      };
    }
  }
}

function ownOf({ target }: ItemToExamine): Exclude<FoundTarget, NoTarget> | null {
  return "fault" in target ? null : target;
}

/** `open`: where it would be sent; null = its target's fault says why nowhere. Its body is there. */
function dryRunOf(
  { item, body, check, order, target }: ItemToExamine,
  { settings }: Rules,
  open: Healthy | null,
  despite: GateRules["despite"],
) {
  return dryRun({
    payload: { bytes: body!.payload.byteLength, bytesMax: settings.payloadBytesMax, ...check! },
    target: open ? targetFacts(open.target.row, open.health) : (target as NoTarget),
    version: item.version,
    leftOut: open?.target.publisher.leftOut?.(body!) ?? [],
    despite,
    ...order,
  });
}

function hasStandIn(found: FoundTarget): boolean {
  return !("fault" in found) && found.standIn !== null;
}

function routeFacts(
  { target, health, standIn }: Exclude<FoundTarget, NoTarget>,
  { sentTo, unreachableHoldMs }: ItemToExamine,
): RouteFacts {
  const { id, fallback } = target.row;
  const { reachable, forcedOpenMs, breakerWaitMs } = health;
  const away = !reachable || forcedOpenMs > 0 || breakerWaitMs > 0;
  // A target that cannot be reached may be restarting; an open breaker shows that it has failed for longer.
  const blip = !reachable && health.unreachableMs < unreachableHoldMs;
  return {
    fallback,
    own: id,
    away: away && !blip,
    refuses: away && !holds(health),
    standIn: standIn && { id: standIn.target.row.id, takes: takes(standIn) },
    ...sentTo,
  };
}

function takes(standIn: Healthy | null): boolean {
  if (standIn === null || standIn.target.row.stopped) return false;
  const { reachable, forcedOpenMs, breakerWaitMs } = standIn.health;
  return reachable && forcedOpenMs === 0 && breakerWaitMs === 0;
}

/** Kept with the item: a person who reads its history sees why it went elsewhere. */
function standInFinding(own: Healthy, standIn: Healthy): Check {
  const { name } = own.target.row;
  const { reachable, detail, breakerDetail } = targetFacts(own.target.row, own.health);
  const why = reachable
    ? (breakerDetail ?? `${name} accepts sends again, and earlier sends are not confirmed`)
    : detail;
  return { check: "fallback", ok: true, detail: `sent to ${standIn.target.row.name} instead of ${name}: ${why}` };
}

/** Is it worth waiting until the target takes sends again? */
function holds(health: TargetHealth | undefined): boolean {
  if (!health) return false;
  // For as long as it is away: a person may cancel. A target that was removed does not come back.
  if (!health.reachable) return health.unreachableMs < Number.POSITIVE_INFINITY;
  if (health.forcedOpenMs > 0) return health.forcedOpenMs < FORCED_OPEN_HOLD_MS;
  return health.breakerWaitMs > 0 && health.breakerWaitMs <= BREAKER_WAIT_MS_MAX;
}

/** For the dry run. A breaker that lets probes through by itself soon refuses nothing: sends wait for it. */
function targetFacts(
  { name, retryable }: Pick<TargetRow, "name" | "retryable">,
  { reachable, detail, forcedOpenMs, breakerWaitMs }: TargetHealth,
): Exclude<DryRunFacts["target"], { fault: string }> {
  const base = { name, retryable, reachable, detail };
  if (forcedOpenMs > 0) {
    return { ...base, breakerOpen: true, breakerDetail: `someone holds the breaker of ${name} open` };
  }
  if (breakerWaitMs === 0) return { ...base, breakerOpen: false };
  const seconds = Math.ceil(breakerWaitMs / 1000);
  const breakerDetail = `the breaker of ${name} is open and lets a send pass in ${seconds} s`;
  return { ...base, breakerOpen: breakerWaitMs > BREAKER_WAIT_MS_MAX, breakerDetail };
}
