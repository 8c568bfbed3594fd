import { HOLDING } from "@/lib/states/state.sql";

/** SQL: `k`, a row of skipped_heads, is in force over the event `e`: neither revised nor bounced since. */
export const SKIP_IN_FORCE = "k.id = e.id and k.revision = e.revision and k.bounces = e.bounces";

/** SQL: a person has let the later versions pass by the event `e`. */
export const SKIPPED = `exists (select 1 from skipped_heads k where ${SKIP_IN_FORCE})`;

/** SQL: the event `e` holds the later versions of its aggregate: it is parked, and nobody has skipped it. */
export const HOLDS = `e.status in ${HOLDING} and not ${SKIPPED}`;
