import { RECENT_DAYS } from "@/lib/keep/retention/retention.pure";

const SINCE = `now() - interval '${RECENT_DAYS} days'`;

/**
 * SQL over `e`, an alias of dlq_events: within RECENT_DAYS it was attempted, redriven, confirmed, revised or restored, or came back. A time of an attempt may be a
 * producer's: one to come says nothing.
 */
export const recent = (e: string) => `(greatest(${e}.redrive_at, ${e}.confirmed_at) > ${SINCE}
  or ${e}.last_attempt_at > ${SINCE} and ${e}.last_attempt_at < now() + interval '1 day'
  or ${e}.revision > 1 and exists (select 1 from event_revisions v where v.id = ${e}.id and v.at > ${SINCE})
  or ${e}.bounces > 0 and exists (select 1 from event_bounces n where n.id = ${e}.id and n.at > ${SINCE})
  or exists (select 1 from restored_events k where k.id = ${e}.id and k.kept_until > now())) is true`;

export const RECENT = recent("e");
