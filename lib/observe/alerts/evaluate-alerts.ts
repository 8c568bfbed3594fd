import { joinStorms } from "@/lib/events/groups/aliases/join-storms";
import { endMutes, splitMutes } from "@/lib/events/groups/mutes/end-mutes.write";
import { mutes } from "@/lib/events/groups/mutes/group-mute.pure";
import { readOpenMutes } from "@/lib/events/groups/mutes/group-mutes.read";
import type { Deps } from "@/lib/lane/deps";
import { type LiveAlertRow, readEndedGroups, readLiveAlerts } from "@/lib/observe/alerts/alerts.read";
import type { AlertEvidence } from "@/lib/observe/alerts/alerts.shapes";
import {
  type AlertChange,
  beginEvaluation,
  dropAlerts,
  endEvaluation,
  holdsEvaluation,
  noteFaults,
  storeAlerts,
} from "@/lib/observe/alerts/alerts.write";
import { readEvidence } from "@/lib/observe/alerts/evidence.read";
import { readAlertFacts } from "@/lib/observe/alerts/facts/alert-facts";
import type { WatchedGroup } from "@/lib/observe/alerts/facts/alert-facts.pure";
import { alertKindOf } from "@/lib/observe/alerts/kinds/alert-kinds.pure";
import { type PlannedChange, planEvaluation } from "@/lib/observe/alerts/plan-evaluation.pure";
import { readRulesInForce } from "@/lib/observe/alerts/rules/alert-rules.read";
import { notifyChannels, type Quiet } from "@/lib/observe/channels/notify-channels";
import { covers } from "@/lib/observe/maintenance/maintenance.pure";
import { readMaintenances } from "@/lib/observe/maintenance/maintenances.read";
import { uuidv7 } from "@/lib/platform/ids";

type AlertDeps = Pick<Deps, "db" | "clock" | "log"> & {
  /** The console's address, without a slash at its end: messages link to it. */
  publicUrl: string;
};

/** Alerts that fire in one evaluation and get sample events: a message lists a few, and each takes two reads. */
const EVIDENCE_MAX = 50;
/** The time limit for the samples of all of them on a slow store: notifications wait for it. */
const EVIDENCE_MS_MAX = 10_000;

export type Evaluation = { rules: number; fired: number; resolved: number; messages: number };

/**
 * One evaluation of all rules: it reads the facts, decides, and stores the alerts together with the messages about them in
 * one transaction. One whose worker died has stored nothing, and the next leader's finds the same. null = a later one was
 * begun meanwhile, by another leader.
 */
export async function evaluateAlerts(deps: AlertDeps): Promise<Evaluation | null> {
  const { db, clock, log } = deps;
  const generation = await beginEvaluation(db);
  const nowMs = clock.wallMs();
  const beganMs = clock.nowMs();
  // First, so that the first evaluation of an outage finds one group in place of a thousand.
  const stormsJoined = joinStorms(deps);
  await stormsJoined.catch((error: unknown) => log.warn({ err: error }, "joining the groups of storms failed"));
  const [rules, live, ended, maintenances, muted] = [
    await readRulesInForce(db),
    await readLiveAlerts(db),
    await readEndedGroups(db),
    await readMaintenances(db),
    splitMutes(await readOpenMutes(db)),
  ];
  const watched = [...firingGroups(live), ...ended.map((group) => ({ ...group, fires: false }))];
  const note = (error: unknown, part: string) =>
    log.warn({ err: error, part }, "a part of the facts could not be read: the rules that need it were not evaluated");
  const facts = await readAlertFacts(
    db,
    { rules: rules.map(({ watch }) => watch), watched, nowMs, muted: muted.inForce, stormsJoined },
    note,
  );
  const { changes, faults } = planEvaluation(rules, live, facts);
  const evidence = await evidenceOf(deps, changes);
  const quiet: Quiet = ({ source, subject: { fingerprint } }) =>
    maintenances.some((maintenance) => covers(maintenance, source, nowMs)) ||
    (fingerprint !== undefined && muted.inForce.some((mute) => mutes(mute, { fingerprint, source })));
  const stored = changes.flatMap((change) => changeOf(change, { generation, nowMs, quiet, evidence }) ?? []);
  return db.transaction(async (tx) => {
    if (!(await holdsEvaluation(tx, generation))) return null;
    await storeAlerts(tx, stored, nowMs);
    await dropAlerts(
      tx,
      changes.flatMap(({ to, known }) => (to === "dropped" && known ? known.id : [])),
    );
    await noteFaults(tx, faults);
    await endMutes(tx, muted.ended, nowMs);
    const messages = await notifyChannels(tx, { nowMs, quiet, publicUrl: deps.publicUrl });
    await endEvaluation(tx, clock.nowMs() - beganMs);
    const fired = changes.filter(({ fires }) => fires).length;
    const resolved = changes.filter(({ to }) => to === "resolved").length;
    return { rules: rules.length, fired, resolved, messages };
  });
}

function firingGroups(live: readonly LiveAlertRow[]): WatchedGroup[] {
  return live.flatMap(({ state, subject, source, sinceMs }) =>
    state === "firing" && subject.fingerprint !== undefined && source !== null
      ? [{ fingerprint: subject.fingerprint, source, sinceMs, fires: true }]
      : [],
  );
}

type Change = PlannedChange<LiveAlertRow>;
type Evidence = ReadonlyMap<Change, AlertEvidence>;

/** Sample events of the alerts that fire now. Best effort: an alert without samples is sent all the same. */
async function evidenceOf({ db, clock, log }: AlertDeps, changes: readonly Change[]): Promise<Evidence> {
  const found = new Map<Change, AlertEvidence>();
  const shown = changes
    .filter(({ fires, rule }) => fires && alertKindOf(rule.watch.kind).isOfEvents)
    .slice(0, EVIDENCE_MAX);
  const untilMs = clock.nowMs() + EVIDENCE_MS_MAX;
  for (const change of shown) {
    if (clock.nowMs() > untilMs) break;
    const { source, subject } = change.finding!;
    const scope = { source, errorCode: subject.errorCode ?? null, fingerprint: subject.fingerprint ?? null };
    try {
      found.set(change, await readEvidence(db, scope));
    } catch (error) {
      log.warn({ err: error, rule: change.rule.name }, "an alert has no sample events");
    }
  }
  return found;
}

type Moment = { generation: number; nowMs: number; quiet: Quiet; evidence: Evidence };

/** The alert as it is after the evaluation; null = it is forgotten. */
function changeOf(change: Change, { generation, nowMs, quiet, evidence }: Moment): AlertChange | null {
  const { rule, known, finding, to, fires, sinceMs, clearSinceMs } = change;
  const { watch } = rule;
  if (to === "dropped") return null;
  // While its condition holds no more it says what it said last, and so does the message that it has ended.
  const shown = finding !== null && (finding.holds || known === null) ? finding : { ...known!, threshold: null };
  const { source, subject } = known ?? shown;
  const firedAtMs = fires ? nowMs : (known?.firedAtMs ?? null);
  const told = known?.toldFrom ?? null;
  return {
    id: known?.id ?? uuidv7(nowMs),
    ruleId: rule.id,
    ruleName: rule.name,
    version: rule.version,
    kind: watch.kind,
    severity: rule.severity,
    key: shown.key,
    source,
    subject,
    state: to,
    sinceMs,
    firedAtMs,
    toldFrom: told ?? (to === "firing" && !quiet({ source, subject }) ? generation : null),
    clearSinceMs,
    value: shown.value,
    threshold: shown.threshold,
    usual: shown.usual,
    sentence: shown.sentence,
    evidence: evidence.get(change) ?? null,
  };
}
