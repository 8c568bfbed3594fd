import { ID_NAMES, type IdName, type Meanings } from "@/lib/contract/meanings";
import { DomainError } from "@/lib/core/problem";
import type { Db, Queryable } from "@/lib/store/db";
import { compileFilter } from "@/lib/store/read/event-filter-sql";

/** From here on the list counts: a person who pastes an id looks for a handful. */
const COUNT_BOUND = 1_000;
/** The search waits for this. */
const MEANINGS_MS_MAX = 1_000;
const CODES_MAX = 5;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What a text may name: an event by our id or its own, an aggregate, a trace, an error code. Reads by indexes, and groups. */
export async function readMeanings(db: Db, text: string, nowMs: number): Promise<Meanings> {
  const [event, errorCodes, ...names] = await Promise.all([
    UUID.test(text) ? readById(db, text) : null,
    readErrorCodes(db, text),
    ...ID_NAMES.map((name) => countByName(db, name, text, nowMs)),
  ]);
  return { text, event, names, errorCodes };
}

async function readById(db: Queryable, id: string): Promise<Meanings["event"]> {
  const [row] = await db.query<NonNullable<Meanings["event"]>>(
    `select e.id, e.event_id as "eventId", s.name as source
       from dlq_events e join sources s on s.id = e.source_id where e.id = $1::uuid`,
    [id],
    { name: "event_by_id" },
  );
  return row ?? null;
}

/** Over the groups, which are thousands where events are millions. */
async function readErrorCodes(db: Queryable, text: string): Promise<string[]> {
  const rows = await db.query<{ error_code: string }>(
    `select error_code from (select distinct error_code from dlq_groups where lower(error_code) = lower($1)) codes
      order by error_code = $1 desc, error_code limit ${CODES_MAX}`,
    [text],
    { name: "error_codes_like" },
  );
  return rows.map((row) => row.error_code);
}

async function countByName(db: Db, name: IdName, text: string, nowMs: number): Promise<Meanings["names"][number]> {
  const { where, values } = compileFilter({ [name]: [text] }, nowMs);
  const sql = `select count(*)::int as n from (select 1 from dlq_events e where ${where} limit ${COUNT_BOUND + 1}) met`;
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
