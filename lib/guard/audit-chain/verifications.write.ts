import type { ChainHead, ChainReport } from "@/lib/guard/audit-chain/chain.pure";
import type { Db, Queryable } from "@/lib/platform/database/db";
import { isOver } from "@/lib/platform/database/moments.sql";
import { uuidv7 } from "@/lib/platform/ids";

/** A check that says nothing for this long lost its worker, and begins anew. */
const LOST = "interval '3 minutes'";
/** Of each extent: good ones that are older say nothing that a later one does not. The last good one of everything ends findings. */
const GOOD_KEPT = 500;
/** Of those with findings, and of those that could not be done; the first one with findings stays, too. */
const OTHERS_KEPT = 100;

export type OpenVerification = {
  id: string;
  extent: "whole" | "recent";
  requestedMs: number;
};

/** The check of everything that waits, or the one that is added. One that runs may have passed what the viewer means. */
export async function joinOrInsertVerification(
  db: Db,
  row: { id: string; by: string; nowMs: number },
): Promise<string> {
  return db.transaction(async (tx) => {
    await tx.query("select pg_advisory_xact_lock(hashtextextended('parkade.audit-verifications', 0))");
    const [waiting] = await tx.query<{ id: string }>(
      "select id from audit_verifications where extent = 'whole' and finished_at is null and started_at is null",
    );
    if (waiting) return waiting.id;
    await tx.run(
      `insert into audit_verifications (id, extent, requested_by, requested_at)
       values ($1, 'whole', $2, to_timestamp($3::float8 / 1000))`,
      [row.id, row.by, row.nowMs],
    );
    return row.id;
  });
}

/** Adds a regular check when the last one of its extent is this old, or was requested before the clock was set back. */
export async function requestRegular(
  db: Queryable,
  { extent, everyMs, nowMs }: { extent: "whole" | "recent"; everyMs: number; nowMs: number },
): Promise<void> {
  await db.run(
    `insert into audit_verifications (id, extent, requested_by, requested_at)
     select $1, $2, 'worker', to_timestamp($3::float8 / 1000)
      where not exists (select from audit_verifications
        where (extent = $2 or extent = 'whole') and requested_at > to_timestamp(($3::float8 - $4::float8) / 1000)
          and requested_at <= to_timestamp($3::float8 / 1000))`,
    [uuidv7(nowMs), extent, nowMs, everyMs],
  );
}

/** The oldest that nobody works on. null = there is none. */
export async function claimVerification(db: Queryable): Promise<OpenVerification | null> {
  const [row] = await db.query<OpenVerification>(
    `update audit_verifications set started_at = now(), worked_at = now(), seals = 0
      where id = (select id from audit_verifications
        where finished_at is null and (worked_at is null or ${isOver("worked_at", LOST)})
        order by id limit 1 for update skip locked)
      returning id, extent, requested_at as "requestedMs"`,
  );
  return row ?? null;
}

export async function noteProgress(db: Queryable, id: string, seals: number): Promise<void> {
  await db.run("update audit_verifications set seals = $2, worked_at = now() where id = $1", [id, seals]);
}

/** @param fault what could not be looked at; null = all was */
export async function endVerification(
  db: Queryable,
  id: string,
  { report, fault }: { report: ChainReport | null; fault: string | null },
): Promise<void> {
  await db.run(
    `update audit_verifications set finished_at = now(), good = $2, result = $3::jsonb, seals = coalesce($4, seals), fault = $5
      where id = $1`,
    [id, report?.good ?? null, report && JSON.stringify(report), report?.seals ?? null, fault],
  );
  await db.run(
    `delete from audit_verifications v using (
       select id, good, row_number() over (partition by good, case when good then (extent, fault is null) end
                                        order by id desc) as newest,
              row_number() over (partition by good order by id) as oldest
         from audit_verifications where finished_at is not null) r
      where v.id = r.id and r.newest > case when r.good then ${GOOD_KEPT} else ${OTHERS_KEPT} end
        and not (r.good is false and r.oldest = 1)`,
  );
}

/**
 * Where the last check ended, good or bad. null = there is none yet. What it found stays with it, and the next check of everything
 * finds it again.
 */
export async function lastEnded(db: Queryable): Promise<{ head: ChainHead | null; requestedMs: number } | null> {
  const [row] = await db.query<{ head: ChainHead | null; requestedMs: number }>(
    `select result -> 'head' as head, requested_at as "requestedMs"
       from audit_verifications where result is not null order by id desc limit 1`,
  );
  return row ?? null;
}
