import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Severity } from "@/lib/observe/alerts/rules/alert-rule.pure";
import type { AlertRuleList, AlertRuleOut, AlertWatch } from "@/lib/observe/alerts/rules/alert-rules.shapes";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable } from "@/lib/platform/database/db";
import { DomainError } from "@/lib/platform/plain/problem.pure";

type RuleInForce = {
  id: string;
  name: string;
  severity: Severity;
  version: number;
  watch: AlertWatch;
  fault: string | null;
};

export async function readRulesInForce(db: Queryable): Promise<RuleInForce[]> {
  return db.query<RuleInForce>(
    "select id, name, severity, version, body as watch, fault from alert_rules where enabled order by id",
    [],
    { name: "alert-rules-in-force" },
  );
}

/** A rule over some sources is seen by whoever sees all of them; one over every source by everybody: it holds no data. */
const SEEN = `($1::text[] is null or r.body -> 'sources' is null or r.body -> 'sources' <@ to_jsonb($1::text[]))`;

const COLUMNS = `r.id, r.name, r.severity, r.enabled, r.version, r.body as watch, case when r.enabled then r.fault end as fault,
  (select count(*) from alerts a where a.rule_id = r.id and a.state = 'firing'
      and ($1::text[] is null or a.source = any($1)))::int as firing,
  r.created_by as "createdBy", r.created_at as "createdAt", r.updated_by as "updatedBy", r.updated_at as "updatedAt"`;

export async function listAlertRules(db: Queryable, viewer: Viewer, query: IdPage): Promise<AlertRuleList> {
  const rows = await db.query<AlertRuleOut>(
    `select ${COLUMNS} from alert_rules r where ${SEEN} and ($2::uuid is null or r.id < $2) order by r.id desc limit $3`,
    [sourceScope(viewer), query.cursor, query.limit + 1],
    { isoTimes: true },
  );
  return cutPage(rows, query.limit, ({ id }) => id);
}

/** Throws DomainError `unknown-alert-rule`. */
export async function readAlertRule(db: Queryable, viewer: Viewer, id: string): Promise<AlertRuleOut> {
  const [row] = await db.query<AlertRuleOut>(
    `select ${COLUMNS} from alert_rules r where ${SEEN} and r.id = $2`,
    [sourceScope(viewer), id],
    { isoTimes: true },
  );
  if (!row) throw unknownAlertRule(id);
  return row;
}

export function unknownAlertRule(id: string): DomainError {
  return new DomainError("unknown-alert-rule", `There is no rule of alerts ${id}`, {
    fields: [{ field: "id", detail: "list rules with GET /api/v1/alert-rules" }],
  });
}
