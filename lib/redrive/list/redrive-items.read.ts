import { paramsFrom } from "@/lib/events/filter/event-filter.sql";
import { maskData, maskNullable } from "@/lib/guard/masking/mask.pure";
import type { Masks } from "@/lib/guard/masking/mask-rule.pure";
import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { ofSeenRedrive } from "@/lib/guard/viewer/scope.sql";
import { assertMay, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { isoOrNull } from "@/lib/platform/plain/iso-time.pure";
import { checksOf, type StoredCheck } from "@/lib/redrive/gate/stored-checks.pure";
import { STOPPED } from "@/lib/redrive/list/decided-attempts.read";
import { bouncedItems, ITEM_CAUSE, ITEM_OUTCOME, itemsIn } from "@/lib/redrive/list/item-outcome.sql";
import type { RedriveCauses, RedriveItemList, RedriveItemOut } from "@/lib/redrive/list/redrive-items.shapes";
import {
  ITEM_STATES,
  type ItemOutcomeWord,
  type ItemState,
  stateOfOutcome,
} from "@/lib/redrive/states/item-state.pure";
import { ITEM } from "@/lib/redrive/states/state.sql";

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

/** Items of a redrive, newest event first. `outcome`: words with commas between them. */
export async function listRedriveItems(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { redriveId: string; state: string | null; outcome: string | null; result: string | null },
): Promise<RedriveItemList> {
  const outcomes = (query.outcome?.split(",") ?? null) as ItemOutcomeWord[] | null;
  const states = query.state === null ? outcomes?.map(stateOfOutcome) : [query.state as ItemState];
  const params = paramsFrom(1);
  const redrive = params.add(query.redriveId);
  const bounced = outcomes?.every((outcome) => outcome === "bounced");
  // A condition that is not asked for is not in the text: a kept plan could not use the cursor as the bound of an index.
  const conditions = [
    ofSeenRedrive("i.redrive_id", params.add(sourceScope(viewer))),
    ...(query.result === null ? [] : [`${ITEM_CAUSE} = ${params.add(query.result)}`]),
    ...(outcomes === null ? [] : [`${ITEM_OUTCOME} = any(${params.add(outcomes)}::text[])`]),
    ...(query.cursor === null ? [] : [`i.id < ${params.add(query.cursor)}::uuid`]),
  ];
  const rows = await db.query<ItemRow>(
    `select ${ITEM_COLUMNS} from ${bounced ? bouncedItems(redrive) : itemsIn(redrive, states ?? ITEM_STATES)} i ${ITEM_JOINS}
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

const CAUSED = ["failed", "bounced", "refused"] as const;

/** Failures, bounces and refusals by cause, most frequent first. */
export async function readRedriveCauses(db: Queryable, viewer: Viewer, id: string): Promise<RedriveCauses> {
  const rows = await db.query<ItemRow & { cause: string; count: number; place: number }>(
    `with caused as materialized (
       select i.id, i.state as outcome, i.result as cause
         from ${itemsIn("$1", ["failed", "refused"])} i where ${ofSeenRedrive("i.redrive_id", "$2")}
       union all
       select i.id, ${ITEM_OUTCOME}, ${ITEM_CAUSE} from ${bouncedItems("$1")} i join dlq_events e on e.id = i.id
        where ${ofSeenRedrive("i.redrive_id", "$2")}
     ), placed as (
       select *, row_number() over (partition by outcome, cause order by id desc) as place,
              count(*) over (partition by outcome, cause) as n
         from caused where outcome = any($3)
     )
     select p.cause, p.n as count, p.place, ${ITEM_COLUMNS}
       from placed p join redrive_items i on i.id = p.id and i.redrive_id = $1 ${ITEM_JOINS}
      where p.place <= ${SAMPLES} order by p.n desc, p.cause, p.outcome, p.place`,
    [id, sourceScope(viewer), CAUSED],
  );
  const masks = await readMasks(db);
  const causes: RedriveCauses["causes"] = [];
  for (const { cause, count, place, ...row } of rows) {
    const outcome = row.outcome as (typeof CAUSED)[number];
    if (place === 1) causes.push({ outcome, result: cause, count, samples: [] });
    causes.at(-1)!.samples.push(itemOut(row, masks));
  }
  return { causes };
}
