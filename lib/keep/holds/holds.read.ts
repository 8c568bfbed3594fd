import { seesHold } from "@/lib/guard/viewer/scope.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { HoldList, HoldOut } from "@/lib/keep/holds/holds.shapes";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";

/** What a hold covers, as it is stored. */
export type StoredHold = {
  scope: "eventId" | "aggregateId" | "tag" | "errorCode" | "source";
  value: string;
  /** For the scope `tag`: the name of the tag. */
  tag: string | null;
  /** For the scope `aggregateId`: the only type; null = all types. */
  aggregateType: string | null;
  /** Name of the only source; null = all sources. Also null for the scope `source`, whose value is the source. */
  source: string | null;
};

/** The same as the API has it: `{ tag: { name: "customerId", value: "42" }, source: "orders" }`. */
export function holdScopeOut({ scope, value, tag, aggregateType, source }: StoredHold): HoldOut["scope"] {
  return {
    ...(scope === "tag" ? { tag: { name: tag!, value } } : { [scope]: value }),
    ...(aggregateType === null ? {} : { aggregateType }),
    ...(source === null ? {} : { source }),
  };
}

type HoldRow = StoredHold & Omit<HoldOut, "scope">;

const COLUMNS = `h.id, h.scope, h.value, h.tag, h.aggregate_type as "aggregateType", h.source, h.from_at as "from", h.to_at as "to",
  h.reason, h.created_by as "createdBy", h.created_at as "createdAt", h.lifted_at as "liftedAt", h.lifted_by as "liftedBy",
  h.lift_reason as "liftReason"`;

/** Legal holds, newest first: those in force, those that were lifted, or both. */
export async function listHolds(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { state: "live" | "ended" | null },
): Promise<HoldList> {
  const rows = await db.query<HoldRow>(
    `select ${COLUMNS} from legal_holds h
      where ($1::uuid is null or h.id < $1) and ($2::boolean is null or (h.lifted_at is null) = $2) and ${seesHold("h", "$4")}
      order by h.id desc limit $3`,
    [query.cursor, query.state === null ? null : query.state === "live", query.limit + 1, sourceScope(viewer)],
    { isoTimes: true },
  );
  const page = cutPage(rows, query.limit, (row) => row.id);
  return { items: page.items.map(holdOut), nextCursor: page.nextCursor };
}

/** null = there is no such hold, in force or lifted. */
export async function readHold(db: Queryable, viewer: Viewer, id: string): Promise<HoldOut | null> {
  const [row] = await db.query<HoldRow>(
    `select ${COLUMNS} from legal_holds h where h.id = $1 and ${seesHold("h", "$2")}`,
    [id, sourceScope(viewer)],
    { isoTimes: true },
  );
  return row ? holdOut(row) : null;
}

function holdOut({ scope, value, tag, aggregateType, source, ...row }: HoldRow): HoldOut {
  return { ...row, scope: holdScopeOut({ scope, value, tag, aggregateType, source }) };
}
