import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { auditMetrics } from "@/lib/observe/metrics/audit-metrics.read";
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
import type { Metric } from "@/lib/platform/plain/prometheus.pure";

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
