import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import type { Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { type TriedFate, tryEach } from "@/lib/rules/redrive-rule.pure";
import { digestOf, readRedriveRulesInForce } from "@/lib/rules/redrive-rules.read";
import type { RedriveRuleTrial, RedriveRuleTry, TriedOutcome } from "@/lib/rules/redrive-rules.shapes";
import { insertTrial } from "@/lib/rules/redrive-rules.write";
import { idsMatching } from "@/lib/rules/run-redrive-rules";
import { type PastOfEvent, readGroupSuccesses, readPastsOfEvents } from "@/lib/rules/tried-events.read";
import { type Candidate, countUpTo, cutoffOf, readCandidates } from "@/lib/selection/candidates.read";
import { readScopedFilter } from "@/lib/selection/scope.read";
import type { ScopedSelection } from "@/lib/selection/scope.shapes";

const TRY_TIMEOUT_MS = 8_000;
/** Events of the window that a trial looks at, newest first. */
const LOOKED_MAX = 20_000;
const PARKED_MAX = 10_000;
const SAMPLES_MAX = 10;
const DAY_MS = 86_400_000;

const UNKNOWN = [
  "Events are matched by their current error code and group, which a bounce may have changed since.",
  "Past controls, cooldowns, breakers and pauses are not applied, and runs do not wait for other redrives.",
  "An event counts once, when it was first parked: repeated redrives are not simulated.",
];

/**
 * What a rule would have done in the last days, and what became of those events in fact. Changes nothing but that it
 * stores the trial, with which the rule can be switched on. Throws DomainError `read-timeout`.
 */
export async function tryRedriveRule(
  deps: Pick<Deps, "db" | "clock">,
  { rule, id, days }: RedriveRuleTry,
  viewer: Viewer,
): Promise<RedriveRuleTrial> {
  assertMay(viewer, "change-redrive-rule", rule.filter.source ?? "all");
  const nowMs = deps.clock.wallMs();
  const fromMs = nowMs - days * DAY_MS;
  const { checked, bounded, events, marked, fates, parked } = await deps.db.transaction(
    async (tx) => {
      const found = await readWindow(tx, { rule, id, fromMs, nowMs }, viewer);
      const pending = await readScopedFilter(tx, viewer, { ...rule.filter, status: ["PENDING"] });
      const parkedNow = { filter: pending } as ScopedSelection;
      const page = { selection: parkedNow, asOfMs: nowMs, cutoff: cutoffOf(parkedNow, nowMs) };
      return { ...found, parked: await countUpTo(tx, page, PARKED_MAX + 1) };
    },
    { statementTimeoutMs: TRY_TIMEOUT_MS, readOnly: true },
  );
  const taken = events.flatMap((event, index) => {
    const fate = fates[index]!;
    return fate.fate === "taken" ? [{ ...event, takenMs: fate.takenMs, outcome: outcomeOf(event) }] : [];
  });
  const fell = (wanted: TriedFate["fate"]) => fates.filter(({ fate }) => fate === wanted).length;
  const became = (wanted: TriedOutcome) => taken.filter(({ outcome }) => outcome === wanted).length;
  const trial: RedriveRuleTrial = {
    id: uuidv7(nowMs),
    digest: digestOf(rule),
    from: iso(fromMs),
    to: iso(nowMs),
    ...{ checked, bounded, marked, taken: taken.length },
    ...{ stayed: became("stayed"), cameBack: became("came-back"), sent: became("sent"), never: became("never") },
    ...{ left: fell("left"), waits: fell("waits"), limited: fell("limited") },
    parkedNow: { count: Math.min(parked, PARKED_MAX), bounded: parked > PARKED_MAX },
    samples: taken.slice(0, SAMPLES_MAX).map(({ candidate, parkedMs, takenMs, outcome }) => ({
      id: candidate.id,
      eventId: candidate.eventId,
      source: candidate.source,
      parkedAt: iso(parkedMs),
      takenAt: iso(takenMs),
      outcome,
    })),
    unknown: UNKNOWN,
  };
  await insertTrial(deps.db, trial, { actor: viewer.name, atMs: nowMs });
  return trial;
}

type Window = Pick<RedriveRuleTry, "rule" | "id"> & { fromMs: number; nowMs: number };
type Tried = PastOfEvent & { candidate: Candidate };

/** The events of the window that the rule's filter matches and no rule above it takes, with what the rule would have done. */
async function readWindow(tx: Tx, { rule, id, fromMs, nowMs }: Window, viewer: Viewer) {
  const filter = await readScopedFilter(tx, viewer, rule.filter);
  const selection = { filter: { ...filter, from: filter.from ?? String(fromMs) } } as ScopedSelection;
  const page = { selection, asOfMs: nowMs, cutoff: cutoffOf(selection, nowMs), after: null };
  const read = await readCandidates(tx, { ...page, limit: LOOKED_MAX + 1 });
  const { rules } = await readRedriveRulesInForce(tx);
  const place = rules.findIndex((other) => other.id === id);
  const above = rules.slice(0, place < 0 ? undefined : place).flatMap(({ body }) => body?.filter ?? []);
  const looked = read.slice(0, LOOKED_MAX);
  const filters = await Promise.all(above.map((each) => readScopedFilter(tx, viewer, each)));
  const ids = looked.map((candidate) => candidate.id);
  const theirs = filters.length === 0 ? new Set() : await idsMatching(tx, ids, filters, nowMs);
  const own = looked.filter((candidate) => !theirs.has(candidate.id));
  const sendable = own.filter(({ admission }) => admission !== "early" && admission !== "confirm");
  const pasts = await readPastsOfEvents(
    tx,
    sendable.map((candidate) => candidate.id),
  );
  const successes = rule.onlyIf.groupSucceeded ? await readGroupSuccesses(tx, [...pasts.values()], fromMs) : null;
  const events: Tried[] = sendable.flatMap((candidate) => {
    const past = pasts.get(candidate.id);
    return past && past.parkedMs >= fromMs ? [{ ...past, candidate }] : [];
  });
  const fates = tryEach(
    events.map((event) => ({ ...event, groupSucceededMs: successes?.after(event) ?? null })),
    rule,
    nowMs,
  );
  const marked = own.length - sendable.length;
  return { checked: events.length + marked, bounded: read.length > LOOKED_MAX, events, marked, fates };
}

/** What became of an event that the rule would have taken. */
function outcomeOf({ confirmed, sends, waiting }: PastOfEvent): TriedOutcome {
  if (confirmed) return "stayed";
  if (waiting) return "sent";
  return sends > 0 ? "came-back" : "never";
}
