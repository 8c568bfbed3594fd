import type { Queryable } from "@/lib/platform/database/db";

/**
 * SQL for the reason why an attempt was not repeated, over `redrive_attempts`; null = it was repeated, or it succeeded.
 */
export const STOPPED = `coalesce(decision->'next'->>'reason',
  case decision->'next'->>'kind' when 'defer' then 'retry-after' end)`;

/** An attempt with a decision, as the worker recorded it. */
export type DecidedAttempt = {
  id: string;
  eventId: string | null;
  attempt: number;
  idempotencyKey: string;
  /** `StoredDecision` of redrive/run/attempt-record. */
  decision: object;
};

/** Rows of one query, so that a history of a million attempts is never in memory at once. */
const PAGE = 1_000;

/** The decided attempts of a redrive, or of one event in it, by event and attempt. */
export async function* readDecidedAttempts(
  db: Queryable,
  { redriveId, eventId }: { redriveId: string; eventId: string | null },
): AsyncGenerator<DecidedAttempt[]> {
  let after: { id: string | null; attempt: number } = { id: null, attempt: 0 };
  for (;;) {
    const page: DecidedAttempt[] = await db.query<DecidedAttempt>(
      `select a.id, e.event_id as "eventId", a.attempt, a.idempotency_key as "idempotencyKey", a.decision
         from redrive_items i join redrive_attempts a on a.id = i.id and a.redrive_id = i.redrive_id
         left join dlq_events e on e.id = a.id
        where i.redrive_id = $1 and a.decision is not null
          and ($2::text is null or e.event_id = $2 or a.id::text = $2)
          and ($3::uuid is null or (a.id, a.attempt) > ($3, $4))
        order by a.id, a.attempt limit ${PAGE}`,
      [redriveId, eventId, after.id, after.attempt],
    );
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    const last = page.at(-1)!;
    after = { id: last.id, attempt: last.attempt };
  }
}

/** Attempts of the same redrive or event that have ended, with or without a decision. */
export async function countAttempts(
  db: Queryable,
  { redriveId, eventId }: { redriveId: string; eventId: string | null },
): Promise<number> {
  const [row] = await db.query<{ n: number }>(
    `select coalesce(sum((i.sent_at is not null)::int + (
              select count(*) from redrive_attempts a where a.id = i.id and a.redrive_id = i.redrive_id)), 0)::int as n
       from redrive_items i left join dlq_events e on e.id = i.id
      where i.redrive_id = $1 and ($2::text is null or e.event_id = $2 or i.id::text = $2)`,
    [redriveId, eventId],
  );
  return row!.n;
}
