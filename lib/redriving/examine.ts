import { type Check, dryRun, type OrderFacts } from "@/lib/core/dry-run";
import { gate } from "@/lib/core/gate";
import type { ItemOutcome } from "@/lib/core/item-outcome";
import type { Settings } from "@/lib/core/settings";
import type { PayloadCheck } from "@/lib/redriving/check-payload";
import { type Rules, readRulesOver } from "@/lib/redriving/read-rules";
import type { Redriver } from "@/lib/redriving/redriver";
import type { Session } from "@/lib/redriving/session";
import type { NoTarget, SliceTarget } from "@/lib/redriving/target";
import type { TargetHealth } from "@/lib/redriving/target-health";
import { type EventBody, readBodies } from "@/lib/store/read/bodies";
import { readOrderFacts } from "@/lib/store/read/dry-run-facts";
import type { ClaimedItem } from "@/lib/store/write/claim-items";
import { markAmbiguous } from "@/lib/store/write/open-attempts";

/** A target that was well a moment ago may be restarting: its items wait this long before they are refused. */
const UNREACHABLE_HOLD_MS = 15_000;
/** A person who holds a breaker open may let it go again: its items wait this long before they are refused. */
const FORCED_OPEN_HOLD_MS = 60_000;
/** An open breaker lets probes through by itself: items wait for that, unless it is further away than this. */
export const BREAKER_WAIT_MS_MAX = 15 * 60_000;

/** A claimed item with everything that was decided about it before the send. */
export type ExaminedItem = {
  item: ClaimedItem;
  findings: Check[];
  settings: Settings;
  /** Monotonic ms at which its order was read. */
  examinedAtMs: number;
  /** Ended before a send (or handed back), else what to send and where. */
  decided: ItemOutcome | null;
  send: { target: SliceTarget; body: EventBody; whitelisted: boolean; ambiguous: boolean } | null;
};

export type Examined = { items: ExaminedItem[]; held: boolean };

/** Gate and dry run of one claim: batched reads, then pure decisions. */
export async function examineItems(
  redriver: Redriver,
  session: Session,
  claimed: readonly ClaimedItem[],
): Promise<Examined> {
  const rules = await readRulesOver(redriver.db, claimed);
  const bodies = await readBodies(
    redriver.db,
    claimed.map((item) => item.id),
  );
  const examinedAtMs = redriver.clock.nowMs();
  const order = await readOrderFacts(redriver.db, session.redrive(), claimed);
  // A first claim has fence 1: only a later one may find attempts that were cut off.
  const resumed = await markAmbiguous(
    redriver.db,
    session.redrive().id,
    claimed.filter((item) => item.fence > 1n),
  );
  const targets = await findTargets(redriver, session, claimed);
  const checks = await checkBodies(redriver, claimed, bodies, targets);
  const nowMs = redriver.clock.wallMs();
  const items = claimed.map((item) => {
    const attempts = Math.max(item.attempts, resumed.get(item.id) ?? 0);
    const facts: Facts = {
      item: { ...item, attempts },
      ambiguous: resumed.has(item.id),
      body: bodies.get(item.id),
      check: checks.get(item.id),
      order: order.get(item.id)!,
      target: targets.get(item.sourceId)!,
    };
    return { ...examine(session, facts, rules, nowMs), examinedAtMs };
  });
  return { items, held: items.some(({ decided }) => decided?.kind === "back") };
}

type Found = { target: SliceTarget; health: TargetHealth } | NoTarget;

async function findTargets(
  redriver: Redriver,
  session: Session,
  claimed: readonly ClaimedItem[],
): Promise<Map<string, Found>> {
  const sources = [...new Set(claimed.map((item) => item.sourceId))];
  const found = await Promise.all(
    sources.map(async (sourceId): Promise<[string, Found]> => {
      const target = await redriver.targets.find(sourceId, session.redrive());
      return [sourceId, "fault" in target ? target : { target, health: await target.health() }];
    }),
  );
  return new Map(found);
}

async function checkBodies(
  redriver: Redriver,
  claimed: readonly ClaimedItem[],
  bodies: Map<string, EventBody>,
  targets: Map<string, Found>,
): Promise<Map<string, PayloadCheck>> {
  const present = claimed.filter((item) => bodies.has(item.id));
  const checks = await redriver.checkPayloads(
    present.map((item) => {
      const { payload, contentType } = bodies.get(item.id)!;
      const found = targets.get(item.sourceId)!;
      return { payload, contentType, schema: "fault" in found ? null : (found.target.row.payloadSchema ?? null) };
    }),
  );
  return new Map(present.map((item, index) => [item.id, checks[index]!]));
}

type Facts = {
  item: ClaimedItem;
  ambiguous: boolean;
  body: EventBody | undefined;
  /** There is one when there is a body. */
  check: PayloadCheck | undefined;
  order: OrderFacts;
  target: Found;
};

function examine(session: Session, facts: Facts, rules: Rules, nowMs: number): Omit<ExaminedItem, "examinedAtMs"> {
  const { item, body } = facts;
  const base = { item, settings: rules.settings, findings: [], send: null };
  const ruling = gate(item, {
    controls: rules.index,
    redriveLimit: rules.settings.redriveLimit,
    nowMs,
    at: "run",
  });
  if (!ruling.pass) return { ...base, decided: { kind: "refused", refusal: ruling.refusal, detail: "" } };
  if (!body) return { ...base, decided: { kind: "refused", refusal: "not-found", detail: "its body is gone" } };
  const verify = session.redrive().mode === "verify";
  const open = "fault" in facts.target ? null : facts.target;
  if (!verify && holds(open?.health)) return { ...base, decided: { kind: "back" } };
  const verdict = dryRun({
    payload: {
      bytes: body.payload.byteLength,
      bytesMax: rules.settings.payloadBytesMax,
      ...facts.check!,
    },
    target: "fault" in facts.target ? facts.target : targetFacts(facts.target.target.row.name, facts.target.health),
    version: item.version,
    ...facts.order,
  });
  if (verdict.kind === "wait") return { ...base, decided: { kind: "back" } };
  const judged = { ...base, findings: verdict.findings };
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
        send: { target, body, whitelisted: ruling.whitelisted, ambiguous: facts.ambiguous },
      };
    }
  }
}

/** Is it worth waiting until the target takes sends again? */
function holds(health: TargetHealth | undefined): boolean {
  if (!health) return false;
  if (!health.reachable) return health.unreachableMs < UNREACHABLE_HOLD_MS;
  if (health.forcedOpenMs > 0) return health.forcedOpenMs < FORCED_OPEN_HOLD_MS;
  return health.breakerWaitMs > 0 && health.breakerWaitMs <= BREAKER_WAIT_MS_MAX;
}

/** For the dry run. A breaker that lets probes through by itself soon refuses nothing: sends wait for it. */
function targetFacts(name: string, { reachable, detail, forcedOpenMs, breakerWaitMs }: TargetHealth) {
  const base = { name, reachable, detail };
  if (forcedOpenMs > 0) {
    return { ...base, breakerOpen: true, breakerDetail: `a person holds the breaker of ${name} open` };
  }
  if (breakerWaitMs === 0) return { ...base, breakerOpen: false };
  const seconds = Math.ceil(breakerWaitMs / 1000);
  const breakerDetail = `the breaker of ${name} is open and lets a send pass in ${seconds} s`;
  return { ...base, breakerOpen: breakerWaitMs > BREAKER_WAIT_MS_MAX, breakerDetail };
}
