import type { Meanings } from "@/lib/events/meanings.shapes";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";
import { compileFilter } from "@/lib/selection/filter/event-filter.sql";
import { ID_NAMES, type IdName } from "@/lib/selection/filter/filter-params.shapes";
import { type ScopedFilter, scopeFilter } from "@/lib/selection/scope.shapes";

/** Maximum matches: a person who pastes an id looks for a few events. */
const COUNT_BOUND = 1_000;
/** Time limit: the search waits for this read. */
const MEANINGS_MS_MAX = 1_000;
const CODES_MAX = 5;

/**
 * The possible meanings of a text: our id or the producer's id of an event, an aggregate, a trace, an error code. Reads
 * by index, and reads groups.
 */
export async function readMeanings(db: Db, viewer: Viewer, text: string, nowMs: number): Promise<Meanings> {
  const sources = sourceScope(viewer);
  const [event, errorCodes, ...names] = await Promise.all([
    UUID.test(text) ? readById(db, text, sources) : null,
    readErrorCodes(db, text, sources),
    ...ID_NAMES.map((name) => countByName(db, scopeFilter(viewer, { [name]: [text] }), name, nowMs)),
  ]);
  return { text, event, names, errorCodes };
}

async function readById(db: Queryable, id: string, sources: string[] | null): Promise<Meanings["event"]> {
  const [row] = await db.query<NonNullable<Meanings["event"]>>(
    `select e.id, e.event_id as "eventId", s.name as source
       from dlq_events e join sources s on s.id = e.source_id where e.id = $1::uuid and ($2::text[] is null or s.name = any($2))`,
    [id, sources],
    { name: "event-by-id" },
  );
  return row ?? null;
}

/** Reads the groups: there are thousands of groups and millions of events. */
async function readErrorCodes(db: Queryable, text: string, sources: string[] | null): Promise<string[]> {
  const rows = await db.query<{ error_code: string }>(
    `select error_code from (select distinct g.error_code from dlq_groups g where lower(g.error_code) = lower($1)
          and ($2::text[] is null or exists (
            select 1 from dlq_level_sums l join sources s on s.id = l.source_id
             where l.error_code = g.error_code and s.name = any($2)))) codes
      order by error_code = $1 desc, error_code limit ${CODES_MAX}`,
    [text, sources],
    { name: "error-codes-like" },
  );
  return rows.map((row) => row.error_code);
}

async function countByName(
  db: Db,
  filter: ScopedFilter,
  name: IdName,
  nowMs: number,
): Promise<Meanings["names"][number]> {
  const { where, values } = compileFilter(filter, nowMs);
  const sql = `select count(*)::int as n from (select 1 from dlq_event_rows e where ${where} limit ${COUNT_BOUND + 1}) met`;
  try {
    const [row] = await db.transaction((tx) => tx.query<{ n: number }>(sql, values), {
      statementTimeoutMs: MEANINGS_MS_MAX,
      readOnly: true,
    });
    const n = row!.n;
    return { name, count: Math.min(n, COUNT_BOUND), kind: n > COUNT_BOUND ? "atLeast" : "exact" };
  } catch (error) {
    if (error instanceof DomainError && error.code === "read-timeout") return { name, count: null, kind: "atLeast" };
    throw error;
  }
}
