import { maskNullable } from "@/lib/guard/masking/mask.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { ofSeenRedrive } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Queryable } from "@/lib/platform/database/db";
import type { Comparison, ComparisonPart } from "@/lib/redrive/list/comparison.shapes";
import { unknownRedrive } from "@/lib/redrive/list/redrives.read";
import { ITEM } from "@/lib/redrive/states/state.sql";

/** Events of a redrive by which an earlier dry run of the same events is found. */
const PROBED_MAX = 200;
const SAMPLES_MAX = 5;
const REASONS_MAX = 100;

/** Whether the checks let it pass, over an item; null = not judged. */
const passes = (item: string) =>
  `case when ${item}.state in (${ITEM.passed}, ${ITEM.delivered}, ${ITEM.failed}) then true
        when ${item}.state = ${ITEM.refused} then false end`;

type Judged = { passes: boolean; reason: string | null; detail: string | null; revision: number };
type SampleRow = { id: string; eventId: string; source: string; before: Judged; now: Judged };
type Row = {
  passedBefore: boolean | null;
  passesNow: boolean | null;
  reasonBefore: string | null;
  reasonNow: string | null;
  count: number;
  revised: number;
  samples: SampleRow[] | null;
};

/**
 * What the dry run of a redrive says against an earlier one, event by event: `other`, else the newest earlier dry run
 * that judged some of its events. Throws DomainError `unknown-redrive`.
 */
export async function compareRedrives(
  db: Queryable,
  viewer: Viewer,
  { id, other }: { id: string; other: string | null },
): Promise<Comparison> {
  const scope = sourceScope(viewer);
  const redrive = await readFacts(db, id, scope);
  if (!redrive) throw unknownRedrive(id);
  const earlierId = other ?? (await findEarlier(db, id, scope));
  const earlier = (earlierId === null ? null : await readFacts(db, earlierId, scope)) ?? null;
  if (earlierId !== null && !earlier) throw unknownRedrive(earlierId, "with");
  const rows = await readPairs(db, id, earlierId);
  const masks = await readMasks(db);
  for (const { samples } of rows)
    for (const { source, before, now } of samples ?? [])
      for (const judged of [before, now]) judged.detail = maskNullable(judged.detail, masks.of(source));
  return { redrive, with: earlier, ...summary(rows) };
}

async function readFacts(
  db: Queryable,
  id: string,
  scope: readonly string[] | null,
): Promise<Comparison["redrive"] | undefined> {
  const [row] = await db.query<Comparison["redrive"]>(
    `select r.id, r.mode, r.created_at as "createdAt", r.created_by as "createdBy"
       from redrives r where r.id = $1 and ${ofSeenRedrive("r.id", "$2")}`,
    [id, scope],
    { name: "compared-redrive", isoTimes: true },
  );
  return row;
}

/** Ids of redrives are in the order of their times. */
async function findEarlier(db: Queryable, id: string, scope: readonly string[] | null): Promise<string | null> {
  const [row] = await db.query<{ id: string }>(
    `select r.id from redrives r
      where r.mode = 'verify' and r.id < $1 and ${ofSeenRedrive("r.id", "$2")}
        and r.id in (select i.redrive_id from redrive_items i
                      where i.id in (select id from redrive_items where redrive_id = $1 order by id desc limit ${PROBED_MAX})
                        and ${passes("i")} is not null)
      order by r.id desc limit 1`,
    [id, scope],
    { name: "earlier-dry-run" },
  );
  return row?.id ?? null;
}

/** Pairs of verdicts by what both say, with some events of each where they differ. */
async function readPairs(db: Queryable, id: string, other: string | null): Promise<Row[]> {
  const judged = (item: string) =>
    `jsonb_build_object('passes', ${passes(item)}, 'reason', case when ${item}.state = ${ITEM.refused} then ${item}.result end, 'detail', ${item}.detail, 'revision', ${item}.revision)`;
  return db.query<Row>(
    `with pairs as materialized (
       select coalesce(n.id, b.id) as id, ${passes("b")} as "passedBefore", ${passes("n")} as "passesNow",
              case when b.state = ${ITEM.refused} then b.result end as "reasonBefore",
              case when n.state = ${ITEM.refused} then n.result end as "reasonNow",
              b.revision <> n.revision as revised
         from (select * from redrive_items where redrive_id = $1) n
         full join (select * from redrive_items where redrive_id = $2) b on b.id = n.id
     ), kinds as (
       select "passedBefore", "passesNow", "reasonBefore", "reasonNow", count(*) as count,
              count(*) filter (where revised) as revised, (array_agg(id order by id desc))[1:${SAMPLES_MAX}] as ids
         from pairs group by 1, 2, 3, 4
     )
     select k."passedBefore", k."passesNow", k."reasonBefore", k."reasonNow", k.count, k.revised,
            (select jsonb_agg(jsonb_build_object('id', e.id, 'eventId', e.event_id, 'source', s.name,
                                                 'before', ${judged("b")}, 'now', ${judged("n")}) order by e.id desc)
               from dlq_events e join sources s on s.id = e.source_id
               join redrive_items n on n.id = e.id and n.redrive_id = $1
               join redrive_items b on b.id = e.id and b.redrive_id = $2
              where e.id = any(k.ids) and k."reasonBefore" is distinct from k."reasonNow"
                and k."passedBefore" is not null and k."passesNow" is not null) as samples
       from kinds k order by k.count desc limit ${REASONS_MAX}`,
    [id, other],
    { name: "compare-redrives" },
  );
}

function summary(rows: readonly Row[]): Omit<Comparison, "redrive" | "with"> {
  const part = (): ComparisonPart => ({ count: 0, revised: 0, byReason: {}, samples: [] });
  const found = {
    newlyPassing: part(),
    newlyRefused: part(),
    otherReason: part(),
    stillPassing: 0,
    stillRefused: {} as Record<string, number>,
    onlyNow: 0,
    onlyBefore: 0,
  };
  for (const row of rows) {
    const { passedBefore, passesNow, reasonBefore, reasonNow, count } = row;
    if (passedBefore === null || passesNow === null) {
      if (passesNow !== null || passedBefore === null) found.onlyNow += count;
      else found.onlyBefore += count;
    } else if (passesNow && passedBefore) found.stillPassing += count;
    else if (passesNow) add(found.newlyPassing, row, reasonBefore);
    else if (passedBefore) add(found.newlyRefused, row, reasonNow);
    else if (reasonBefore !== reasonNow) add(found.otherReason, row, `${reasonBefore} -> ${reasonNow}`);
    else found.stillRefused[reasonNow ?? ""] = (found.stillRefused[reasonNow ?? ""] ?? 0) + count;
  }
  return found;
}

function add(part: ComparisonPart, { count, revised, samples }: Row, reason: string | null): void {
  part.count += count;
  part.revised += revised;
  part.byReason[reason ?? ""] = (part.byReason[reason ?? ""] ?? 0) + count;
  part.samples.push(...(samples ?? []).slice(0, SAMPLES_MAX - part.samples.length));
}
