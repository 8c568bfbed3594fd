import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import * as words from "@/lib/observe/alerts/alert-words.pure";
import { type AlertRuleBody, sourcesOf } from "@/lib/observe/alerts/rules/alert-rule.pure";
import type { TrialPeriod } from "@/lib/observe/alerts/trial/trial.pure";
import type { Queryable } from "@/lib/platform/database/db";

const HOUR_MS = 3_600_000;
const ARRIVED = "parked + bounced + unstored";
const PERIODS_MAX = 1_000;

type GroupRule = Extract<AlertRuleBody, { kind: "new-group" | "group-back" }>;
type Row = {
  fingerprint: string;
  source: string;
  errorCode: string;
  pattern: string;
  fromMs: number;
  beforeMs: number | null;
  n: number;
};

/** When groups began, or came back, since then: by the hour, in which the rule's least must have arrived. */
export async function readPastGroups(db: Queryable, watch: GroupRule, fromMs: number): Promise<TrialPeriod[]> {
  const began =
    watch.kind === "new-group"
      ? "g.first_seen >= to_timestamp($1::float8 / 1000) and h.at = date_trunc('hour', g.first_seen, 'UTC')"
      : "h.before is not null and h.at - h.before >= make_interval(secs => $5::float8 / 1000)";
  const rows = await db.query<Row>(
    `with hours as (
       select fingerprint, source_id, at, ${ARRIVED} as n,
              lag(at) over (partition by fingerprint, source_id order by at) as before
         from dlq_group_flow_hours
        where ${ARRIVED} > 0 and at >= to_timestamp($1::float8 / 1000) - make_interval(secs => $5::float8 / 1000) - interval '1 day')
     select h.fingerprint, s.name as source, g.error_code as "errorCode", g.message_pattern as pattern, h.at as "fromMs",
            h.before as "beforeMs", h.n
       from hours h join dlq_groups g using (fingerprint) join sources s on s.id = h.source_id
      where h.at >= to_timestamp($1::float8 / 1000) and h.n >= $2 and ${began}
        and ($3::text[] is null or s.name = any($3)) and ($4::text[] is null or g.error_code = any($4)) and $5::float8 is not null
      order by h.at limit ${PERIODS_MAX}`,
    [fromMs, watch.atLeast, sourcesOf(watch), watch.errorCodes ?? null, watch.quietMs],
  );
  const masks = await readMasks(db);
  return rows.map(({ pattern, fromMs: atMs, beforeMs, n, ...row }) => {
    const group = { ...row, pattern: maskText(pattern, masks.of(row.source)), arrived: n, runSinceMs: atMs, beforeMs };
    const rest = { firstSeenMs: atMs, lastMs: atMs, parked: n };
    const sentence =
      watch.kind === "new-group" ? words.newGroup({ ...group, ...rest }) : words.groupBack({ ...group, ...rest });
    return { key: `${row.fingerprint}@${row.source}`, fromMs: atMs, toMs: atMs + HOUR_MS, peak: n, sentence };
  });
}
