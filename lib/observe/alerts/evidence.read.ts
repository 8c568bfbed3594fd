import { readMasks } from "@/lib/guard/masking/mask-rules.read";
import { maskText } from "@/lib/guard/masking/mask-text.pure";
import { quoted } from "@/lib/observe/alerts/alert-words.pure";
import type { AlertEvidence } from "@/lib/observe/alerts/alerts.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { type LinkFacts, type LinkTemplate, linksOf, messageLinks } from "@/lib/sources/links/source-links.pure";
import { PARKED } from "@/lib/states/state.sql";

const SHOWN = 3;
/** Of so many groups by arrivals, those with parked events are shown first: each costs a look-up. */
const RANKED = 100;
/** Of the newest events of a group, those that are still parked are shown. */
const LOOKED_AT = 1_000;
/** Groups by their arrivals in the last hour, or in the hours before where those were none. */
const LOOK_BACK = "24 hours";

type EvidenceScope = { source: string | null; errorCode: string | null; fingerprint: string | null };

type SampleRow = Omit<LinkFacts, "atMs"> & {
  id: string;
  errorText: string | null;
  firstSeen: string;
  failedAt: string | null;
  templates: LinkTemplate[];
};

/**
 * The groups with the most arrivals of the last hour (else day), those with parked events first, each with its newest event. Texts are
 * masked: they leave Parkade.
 */
export async function readEvidence(db: Queryable, scope: EvidenceScope): Promise<AlertEvidence> {
  const groups = await db.query<{
    fingerprint: string;
    sourceId: string;
    errorCode: string;
    pattern: string;
    count: number;
  }>(
    `with recent as (
       select fingerprint, source_id, at >= date_trunc('hour', now(), 'UTC') - interval '1 hour' as late,
              parked + bounced + unstored as n from dlq_group_flow_hours
        where at >= now() - interval '${LOOK_BACK}' and ($1::text is null or source_id = (select id from sources where name = $1))
          and ($2::text is null or error_code = $2) and ($3::text is null or fingerprint = $3)
       union all
       select fingerprint, source_id, true, n from dlq_flow
        where kind in ('parked', 'bounced', 'unstored') and ($1::text is null or source_id = (select id from sources where name = $1))
          and ($2::text is null or error_code = $2) and ($3::text is null or fingerprint = $3))
     select r.fingerprint, r.source_id as "sourceId", g.error_code as "errorCode", g.message_pattern as pattern, r.count
       from (select fingerprint, source_id, coalesce(sum(n) filter (where late), 0) as late, sum(n)::bigint as count from recent where n > 0
              group by 1, 2 order by 3 desc, 4 desc, 1 limit ${RANKED}) r
       join dlq_groups g using (fingerprint)
      order by (select coalesce(sum(l.n), 0) > 0 from dlq_group_levels l
                 where l.fingerprint = r.fingerprint and l.source_id = r.source_id and l.status in ${PARKED}) desc,
               r.late desc, r.count desc, 1 limit ${SHOWN}`,
    [scope.source, scope.errorCode, scope.fingerprint],
    { name: "alert-evidence-groups" },
  );
  const samples = await db.query<SampleRow>(
    `select e.id, e.event_id as "eventId", s.name as source, e.error_code as "errorCode", f.last_error as "errorText",
            e.first_seen as "firstSeen", f.failed_at as "failedAt", f.trace_id as "traceId",
            e.aggregate_type as "aggregateType", e.aggregate_id as "aggregateId", s.links as templates
       from unnest($1::text[], $2::uuid[]) w (fingerprint, source_id) cross join lateral (
         select e.* from (
           select * from dlq_events
            where fingerprint = w.fingerprint and source_id = w.source_id and settled = 0 order by id desc limit ${LOOKED_AT}) e
          where e.status in ${PARKED} order by e.id desc limit $3) e
       join sources s on s.id = e.source_id left join dlq_event_facts f on f.id = e.id order by e.id desc limit ${SHOWN}`,
    [
      groups.map(({ fingerprint }) => fingerprint),
      groups.map(({ sourceId }) => sourceId),
      // A single group shows three events, three groups show one each.
      groups.length === 1 ? SHOWN : 1,
    ],
    { name: "alert-evidence-samples", isoTimes: true },
  );
  const masks = await readMasks(db);
  return {
    samples: samples.map((sample) => {
      const { id, eventId, source, errorCode, errorText, firstSeen, failedAt } = sample;
      const links = linksOf(sample.templates, { ...sample, atMs: Date.parse(failedAt ?? firstSeen) });
      return {
        ...{ id, eventId, source, errorCode, firstSeen },
        errorText: errorText === null ? null : quoted(maskText(errorText, masks.of(source))),
        links: messageLinks(links),
      };
    }),
    groups: groups.map(({ fingerprint, errorCode, pattern, count }) => ({
      fingerprint,
      errorCode,
      pattern: quoted(maskText(pattern, masks.of(scope.source))),
      count,
    })),
  };
}
