import { keyOf } from "@/lib/intake/event-keys.write";
import type { Parking } from "@/lib/intake/park.write";
import type { Db, Tx } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import type { RuleRef } from "@/lib/states/admission-mark.pure";

/** How a rule met an arrival. `superseded` has no rule: see `readProcessedAbove`. */
type AdmissionOutcome = "matched" | "dropped" | "failed" | "superseded";
export type AdmissionCount = { ruleId: string | null; sourceId: string; outcome: AdmissionOutcome };

/** Appends what the rules did, summed up: a batch writes a row for each rule, source and outcome. */
export async function countAdmission(tx: Tx, counts: readonly AdmissionCount[], nowMs: number): Promise<void> {
  const sums = new Map<string, AdmissionCount & { n: number }>();
  for (const count of counts) {
    const key = `${count.ruleId}${count.sourceId}${count.outcome}`;
    const known = sums.get(key);
    if (known) known.n++;
    else sums.set(key, { ...count, n: 1 });
  }
  const rows = [...sums.values()];
  if (rows.length === 0) return;
  await tx.run(
    `insert into admission_counts (hour, rule_id, source_id, outcome, n)
     select date_trunc('hour', to_timestamp($5::float8 / 1000), 'UTC'), w.*
       from unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[]) as w (rule_id, source_id, outcome, n)`,
    [
      rows.map(({ ruleId }) => ruleId),
      rows.map(({ sourceId }) => sourceId),
      rows.map(({ outcome }) => outcome),
      rows.map(({ n }) => n),
      nowMs,
    ],
    { name: "count-admission" },
  );
}

type EventName = { sourceId: string; eventId: string; producer: string };

/** Of these arrivals, the keys (see `keyOf`) of the events that are stored, or lie in the archive. */
export async function storedAmong(tx: Tx, parkings: readonly Parking[]): Promise<Set<string>> {
  const rows = await tx.query<EventName>(
    `select w.source_id as "sourceId", w.event_id as "eventId", w.producer
       from unnest($1::uuid[], $2::text[], $3::text[]) as w (source_id, event_id, producer)
       join event_keys k on k.event_id = w.event_id and k.source_id = w.source_id and k.producer = w.producer
      where exists (select 1 from dlq_events e where e.id = k.id)
         or exists (select 1 from archived_events a where a.id = k.id)`,
    namesOf(parkings),
    { name: "stored-among" },
  );
  return new Set(rows.map(({ sourceId, eventId, producer }) => keyOf(sourceId, eventId, producer)));
}

/**
 * Remembers dropped messages for an hour. Returns the keys that are new: a message that came before is not counted
 * again. Keys are written in one order, as in `claimKeys`.
 */
export async function rememberDrops(tx: Tx, parkings: readonly Parking[]): Promise<Set<string>> {
  const rows = await tx.query<EventName>(
    `insert into admission_drops (event_id, source_id, producer)
     select w.event_id, w.source_id, w.producer from unnest($1::uuid[], $2::text[], $3::text[]) as w (source_id, event_id, producer)
      order by w.event_id, w.source_id, w.producer
     on conflict do nothing returning source_id as "sourceId", event_id as "eventId", producer`,
    namesOf(parkings),
    { name: "remember-drops" },
  );
  return new Set(rows.map(({ sourceId, eventId, producer }) => keyOf(sourceId, eventId, producer)));
}

function namesOf(parkings: readonly Parking[]): [sourceIds: string[], eventIds: string[], producers: string[]] {
  return [
    parkings.map(({ sourceId }) => sourceId),
    parkings.map(({ letter }) => letter.eventId),
    parkings.map(({ letter }) => letter.producer ?? ""),
  ];
}

export type AdmissionSample = {
  rule: RuleRef;
  sourceId: string;
  outcome: "dropped" | "failed";
  letter: DeadLetter;
  fault: string | null;
};

/** A rule that drops a thousand messages a second still writes few samples. */
const SAMPLE_EVERY_S = 10;
const SAMPLE_CHARS_MAX = 500;

/** Keeps a sample of each rule and outcome, unless one was kept a moment ago. */
export async function sampleAdmission(tx: Tx, samples: readonly AdmissionSample[], nowMs: number): Promise<void> {
  const firsts = [...new Map(samples.map((each) => [`${each.rule.id}${each.outcome}`, each])).values()];
  if (firsts.length === 0) return;
  const cut = (text: string | null) => text?.slice(0, SAMPLE_CHARS_MAX).toWellFormed() ?? null;
  const column = <T>(of: (sample: AdmissionSample) => T) => firsts.map(of);
  await tx.run(
    `insert into admission_samples (id, rule_id, source_id, outcome, event_id, error_code, error_type, error_message, fault, at)
     select w.*, to_timestamp($10::float8 / 1000)
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
         as w (id, rule_id, source_id, outcome, event_id, error_code, error_type, error_message, fault)
      where not exists (select 1 from admission_samples a
                         where a.rule_id = w.rule_id and a.outcome = w.outcome
                           and a.at > to_timestamp($10::float8 / 1000) - interval '${SAMPLE_EVERY_S} s')`,
    [
      column(() => uuidv7(nowMs)),
      column(({ rule }) => rule.id),
      column(({ sourceId }) => sourceId),
      column(({ outcome }) => outcome),
      column(({ letter }) => letter.eventId),
      column(({ letter }) => letter.errorCode),
      column(({ letter }) => cut(letter.error.type)),
      column(({ letter }) => cut(letter.error.message)),
      column(({ fault }) => cut(fault)),
      nowMs,
    ],
    { name: "sample-admission" },
  );
}

/** Only these hours still get deltas. */
const FOLDED_HOURS = "date_trunc('hour', now() - interval '2 hours', 'UTC')";

/** Folds the counts of an hour, rule, source and outcome that have several rows. */
export const FOLD_ADMISSION = `
  with several as (
    select hour, rule_id, source_id, outcome from admission_counts where hour >= ${FOLDED_HOURS}
     group by hour, rule_id, source_id, outcome having count(*) > 1),
  gone as (
    delete from admission_counts c using several s
     where c.hour = s.hour and c.rule_id is not distinct from s.rule_id and c.source_id = s.source_id and c.outcome = s.outcome
     returning c.*)
  insert into admission_counts (hour, rule_id, source_id, outcome, n)
  select hour, rule_id, source_id, outcome, sum(n) from gone group by hour, rule_id, source_id, outcome`;

/** How long a dropped message that comes again is known: longer than a broker needs to deliver it again. */
const DROPS_KEPT = "1 hour";
const COUNTS_KEPT = "30 days";
const SAMPLES_KEPT = 20;

/** Removes what admission no longer shows or needs. */
export async function removeExpiredAdmission(db: Db): Promise<void> {
  await db.run(`delete from admission_drops where at < now() - interval '${DROPS_KEPT}'`);
  await db.run(`delete from admission_counts where hour < now() - interval '${COUNTS_KEPT}'`);
  await db.run(
    `delete from admission_samples where id in (
       select id from (select id, row_number() over (partition by rule_id order by id desc) as place from admission_samples) s
        where s.place > ${SAMPLES_KEPT})`,
  );
}
