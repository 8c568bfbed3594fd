import { withShownReasons } from "@/lib/guard/masking/typed-texts.read";
import { seesAll, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { ForgetList, ForgetOut } from "@/lib/keep/forget/forget.shapes";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { isOver } from "@/lib/platform/database/moments.sql";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { BULK } from "@/lib/states/state.sql";

/** One without a step for this long says that it does not move. */
const STALLED_S = 60;

const COLUMNS = `f.id, case when f.finished_at is null then ${BULK.RUNNING} else ${BULK.DONE} end as state, f.key_kind as "keyKind", f.phase, f.counts,
  f.refused, f.reason, f.created_by as "createdBy", f.created_at as "createdAt", f.finished_at as "finishedAt",
  case when f.finished_at is null then coalesce(f.fault, case when ${isOver("coalesce(f.worked_at, f.created_at)", `interval '${STALLED_S} s'`)}
    then 'No progress in the last ${STALLED_S} s: is a worker running?' end) end as stalled`;

/** Newest first. A forget looks at texts of all sources: who sees some of them sees none of it. */
export async function listForgets(
  db: Queryable,
  viewer: Viewer,
  query: IdPage & { state: "RUNNING" | "DONE" | null },
): Promise<ForgetList> {
  sourceScope(viewer);
  const rows = await db.query<ForgetOut>(
    `select ${COLUMNS} from forgets f
      where $4 and ($1::uuid is null or f.id < $1) and ($2::boolean is null or (f.finished_at is null) = $2)
      order by f.id desc limit $3`,
    [query.cursor, query.state === null ? null : query.state === "RUNNING", query.limit + 1, seesAll(viewer, null)],
    { isoTimes: true },
  );
  return cutPage(await withShownReasons(db, viewer, rows), query.limit, (row) => row.id);
}

/** Throws DomainError `unknown-forget`. */
export async function readForget(db: Queryable, viewer: Viewer, id: string): Promise<ForgetOut> {
  sourceScope(viewer);
  const [row] = await db.query<ForgetOut>(
    `select ${COLUMNS} from forgets f where f.id = $1 and $2`,
    [id, seesAll(viewer, null)],
    { isoTimes: true },
  );
  if (row) return (await withShownReasons(db, viewer, [row]))[0]!;
  throw new DomainError("unknown-forget", `There is no forget ${id}`, {
    fields: [{ field: "id", detail: "list them with GET /api/v1/forget" }],
  });
}
