import { STANDING_FINDING } from "@/lib/guard/audit-chain/standing-finding.sql";
import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import {
  ageMetrics,
  arrivalMetrics,
  controlMetrics,
  flowMetrics,
  type Scrape,
  sizeMetrics,
} from "@/lib/observe/metrics/parked-metrics.read";
import {
  admissionMetrics,
  alertMetrics,
  intakeMetrics,
  outboxMetrics,
  redriveMetrics,
  ruleMetrics,
  sourceMetrics,
  stopMetrics,
  tableMetrics,
  waitMetrics,
  workerMetrics,
} from "@/lib/observe/metrics/work-metrics.read";
import type { Queryable } from "@/lib/platform/database/db";
import { gauge, type Metric } from "@/lib/platform/plain/prometheus.pure";

/** Each reads its values and names them. They read rollups, heartbeats and the oldest event: the cost does not grow with the number of events. */
const FAMILIES: readonly ((db: Queryable, scrape: Scrape) => Promise<Metric[]>)[] = [
  sizeMetrics,
  ageMetrics,
  flowMetrics,
  arrivalMetrics,
  controlMetrics,
  stopMetrics,
  intakeMetrics,
  tableMetrics,
  sourceMetrics,
  ruleMetrics,
  waitMetrics,
  admissionMetrics,
  outboxMetrics,
  alertMetrics,
  redriveMetrics,
  workerMetrics,
  auditMetrics,
];

export async function readMetrics(db: Queryable, viewer: Viewer, nowMs: number): Promise<Metric[]> {
  const scrape = { viewer, scope: sourceScope(viewer), nowMs };
  return (await Promise.all(FAMILIES.map((read) => read(db, scrape)))).flat();
}

/** More are not counted: an upgraded store waits for the seals of all its entries. */
const WAITING_MAX = 10_000;

type Audit = {
  waiting: number;
  oldestS: number | null;
  finding: boolean;
  checked: { extent: string }[] | null;
  goodAges: { extent: string; ageS: number }[] | null;
  anchors: { place: string; ageS: number }[] | null;
};

/** The last check of each extent of those `where`, with its extent and these columns. */
const lastChecks = (where: string, columns: string[] = []) =>
  `(select jsonb_agg(last) from unnest('{whole,recent}'::text[]) e (extent), lateral (
     select ${["v.extent", ...columns].join(", ")} from audit_verifications v where v.extent = e.extent and ${where} order by v.id desc limit 1) last)`;
const age = (at: string) => `extract(epoch from now() - ${at})::float8`;

/** The chain runs through all sources: only for viewers of all of them. */
async function auditMetrics(db: Queryable, { scope }: Scrape): Promise<Metric[]> {
  const [row] = scope === null ? await db.query<Audit>(AUDIT, [], { name: "audit-metrics" }) : [];
  return [
    gauge("parkade_audit_unsealed_entries", `Audit entries that wait for a seal, at most ${WAITING_MAX}.`, [
      { value: row?.waiting ?? null },
    ]),
    gauge("parkade_audit_unsealed_oldest_seconds", "How long the oldest of them has waited.", [
      { value: row?.oldestS ?? null },
    ]),
    gauge(
      "parkade_audit_good",
      "1 while the audit has no open finding, otherwise 0, whatever the extent of the check that found it.",
      (row?.checked ?? []).map(({ extent }) => ({ labels: { extent }, value: row!.finding ? 0 : 1 })),
    ),
    gauge(
      "parkade_audit_good_age_seconds",
      "Time since the last check of the audit that found no fault.",
      (row?.goodAges ?? []).map(({ extent, ageS }) => ({ labels: { extent }, value: ageS })),
    ),
    gauge(
      "parkade_audit_anchor_age_seconds",
      "Time since the end of the audit was last anchored outside.",
      (row?.anchors ?? []).map(({ place, ageS }) => ({ labels: { place }, value: ageS })),
    ),
  ];
}

// Places by steps through the index: there are few, with many anchors each.
const AUDIT = `with recursive places as (
    (select place from audit_anchors order by place limit 1)
    union all
    select (select a.place from audit_anchors a where a.place > p.place order by a.place limit 1) from places p
     where p.place is not null
  ), waiting as (select since from audit_pending limit ${WAITING_MAX})
  select (select count(*)::int from waiting) as waiting, (select ${age("min(since)")} from waiting) as "oldestS",
    exists (${STANDING_FINDING}) as finding,
    ${lastChecks("v.good is not null")} as checked,
    ${lastChecks("v.good", [`${age("v.finished_at")} as "ageS"`])} as "goodAges",
    (select jsonb_agg(jsonb_build_object('place', p.place, 'ageS', (
        select ${age("a.at")} from audit_anchors a where a.place = p.place order by a.id desc limit 1)))
       from places p where p.place is not null) as anchors`;
