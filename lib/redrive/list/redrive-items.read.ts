import { maskData, maskNullable } from "@/lib/guard/masking/mask.pure";
import type { Masks } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { ofSeenRedrive, seesRedrive } from "@/lib/guard/viewer/scope.sql";
import { assertMay, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { paramsFrom } from "@/lib/platform/database/params.sql";
import { isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { checksOf, type StoredCheck } from "@/lib/redrive/gate/stored-checks.pure";
import { STOPPED } from "@/lib/redrive/list/decided-attempts.read";
import type { RedriveCauses, RedriveItemList, RedriveItemOut } from "@/lib/redrive/list/redrive-items.shapes";
import { ITEM_CAUSE, ITEM_OUTCOME, itemsWith } from "@/lib/states/item-outcome.sql";
import { ITEM_EXCEPTIONS, ITEM_OUTCOMES, type ItemOutcomeWord, stateOfOutcome } from "@/lib/states/item-state.pure";
import { ITEM } from "@/lib/states/state.sql";

/** SQL: the event's id as its source gave it, also of one in the archive; Parkade's own where nothing knows it any more. */
const EVENT_ID =
  "coalesce(e.event_id, (select a.event_id from archived_events a where a.id = i.id limit 1), i.id::text)";

/**
 * Also for a failed item whose last attempt was to be repeated, and whose time ended during the wait for the repeat.
 */
const ITEM_COLUMNS = `i.id, ${EVENT_ID} as "eventId", s.name as source, i.aggregate_id as "aggregateId",
  i.version, i.error_code as "errorCode", i.revision, i.state, ${ITEM_OUTCOME} as outcome, i.result, i.detail, coalesce(o.attempts, i.attempts) as attempts, coalesce(i.verdict, '[]') as findings,
  i.finished_at as "finishedAtMs",
  case when i.state = ${ITEM.failed} then (
    select coalesce(${STOPPED}, case a.decision->'next'->>'kind' when 'retry' then 'deadline' end)
      from redrive_attempts a
     where a.id = i.id and a.redrive_id = i.redrive_id order by a.attempt desc limit 1) end as stopped`;
/** SQL: with the items `i`, what `ITEM_COLUMNS` needs. */
const ITEM_JOINS = `left join open_items o on o.id = i.id and o.redrive_id = i.redrive_id
  left join dlq_events e on e.id = i.id left join sources s on s.id = i.source_id`;

type ItemRow = Omit<RedriveItemOut, "finishedAt" | "findings"> & {
  finishedAtMs: number | null;
  findings: StoredCheck[];
};

/** The answer of a target, and a finding about a payload, may repeat what is masked. */
function itemOut({ finishedAtMs, findings, detail, ...row }: ItemRow, masks: Masks): RedriveItemOut {
  const set = masks.of(row.source);
  return {
    ...row,
    detail: maskNullable(detail, set),
    findings: maskData(checksOf(findings), set),
    finishedAt: isoOrNull(finishedAtMs),
  };
}

/** The outcomes that have a cause. */
const CAUSED: readonly ItemOutcomeWord[] = [...ITEM_EXCEPTIONS, "bounced"];

/** Items of a redrive, newest event first. `outcome`: words with commas between them. */
export async function listRedriveItems(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { redriveId: string; state: string | null; outcome: string | null; result: string | null },
): Promise<RedriveItemList> {
  const outcomes = (query.outcome?.split(",") ?? null) as ItemOutcomeWord[] | null;
  const params = paramsFrom(1);
  const redrive = params.add(query.redriveId);
  const cause = query.result === null ? undefined : params.add(query.result);
  const ofState = ITEM_OUTCOMES.filter((word) => stateOfOutcome(word) === query.state);
  const read = outcomes ?? (query.state !== null ? ofState : cause !== undefined ? CAUSED : null);
  // A condition that is not asked for is not in the text: a kept plan could not use the cursor as the bound of an index.
  const conditions = [
    ofSeenRedrive("i.redrive_id", params.add(sourceScope(viewer))),
    ...(query.state === null ? [] : [`i.state = ${params.add(query.state)}`]),
    ...(cause === undefined ? [] : [`${ITEM_CAUSE} = ${cause}`]),
    ...(outcomes === null ? [] : [`${ITEM_OUTCOME} = any(${params.add(outcomes)}::text[])`]),
    ...(query.cursor === null ? [] : [`i.id < ${params.add(query.cursor)}::uuid`]),
  ];
  const rows = await db.query<ItemRow>(
    `select ${ITEM_COLUMNS} from ${itemsWith(redrive, read, cause)} i ${ITEM_JOINS}
      where ${conditions.join(" and ")} order by i.id desc limit ${query.limit + 1}`,
    params.values,
    { name: "redrive-items" },
  );
  const page = cutPage(rows, query.limit, (row) => row.id);
  const masks = await readMasks(db);
  return { items: page.items.map((row) => itemOut(row, masks)), nextCursor: page.nextCursor };
}

const EXPORT_PAGE = 500;

/** All items with these outcomes, newest event first, page by page: no transaction stays open. */
export async function* exportRedriveItems(
  db: Queryable,
  viewer: Viewer,
  query: Omit<Parameters<typeof listRedriveItems>[2], "cursor" | "limit">,
): AsyncGenerator<RedriveItemOut[], void> {
  assertMay(viewer, "export");
  let cursor: string | null = null;
  do {
    const page: RedriveItemList = await listRedriveItems(db, viewer, { ...query, cursor, limit: EXPORT_PAGE });
    if (page.items.length > 0) yield page.items;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

/** Samples shown of each cause. */
const SAMPLES = 3;

/** SQL: with an outcome and a cause `c`, the newest items of that cause. */
const SAMPLED = [
  `select i.id from redrive_items i
    where c.outcome <> 'bounced' and i.redrive_id = $1 and i.exception = c.outcome and i.cause = c.cause order by i.id desc limit ${SAMPLES}`,
  `select b.id from event_bounces b
    cross join lateral (select state from redrive_items own where own.id = b.id and own.redrive_id = b.redrive_id offset 0) i
    where c.outcome = 'bounced' and b.redrive_id = $1 and b.error_code = c.cause and i.state = ${ITEM.delivered}
    order by b.id desc limit ${SAMPLES}`,
];

type Cause = RedriveCauses["causes"][number];

/**
 * Failures, bounces and refusals by cause, most frequent first. The redrive's counters know how many there are of each, also of events that
 * have left the store.
 */
export async function readRedriveCauses(db: Queryable, viewer: Viewer, id: string): Promise<RedriveCauses> {
  const rows = await db.query<ItemRow & { caused: Cause["outcome"]; cause: string; count: number }>(
    `with causes as materialized (
       select outcome, key as cause, value::bigint as n
         from redrives r
        cross join lateral (values (${ITEM.failed}, failed_by_reason), ('bounced', bounced_by_reason), (${ITEM.refused}, refused_by_reason)) w (outcome, counts)
        cross join lateral jsonb_each_text(counts)
        where r.id = $1 and ${seesRedrive("r", "$2")}
     )
     select c.outcome as caused, c.cause, c.n as count, ${ITEM_COLUMNS}
       from causes c left join lateral (${SAMPLED.map((sql) => `(${sql})`).join(" union all ")}) sampled on true
       left join redrive_items i on i.id = sampled.id and i.redrive_id = $1 ${ITEM_JOINS}
      order by c.n desc, c.cause, c.outcome, i.id desc`,
    [id, sourceScope(viewer)],
    { name: "redrive-causes" },
  );
  const masks = await readMasks(db);
  const causes: Cause[] = [];
  for (const { caused, cause, count, ...row } of rows) {
    const last = causes.at(-1);
    const of =
      last?.outcome === caused && last.result === cause ? last : { outcome: caused, result: cause, count, samples: [] };
    if (of !== last) causes.push(of);
    // Without an item: none is stored any more.
    if (row.id !== null) of.samples.push(itemOut(row, masks));
  }
  return { causes };
}
