import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse } from "yaml";
import * as metrics from "@/app/(observe)/metrics/route";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { describeWith } from "@/lib/testing/describe-with";

const FOLDER = join(import.meta.dirname, "../../docs/monitoring");
const missing = spawnSync("promtool", ["--version"]).status === 0 ? null : "promtool of Prometheus is not installed";

type Rule = { record?: string; alert?: string; expr: string; annotations?: { summary: string; runbook: string } };
type Dashboard = { panels: { id: number; title: string; targets: { expr: string }[] }[] };

const rules: Rule[] = parse(readFileSync(join(FOLDER, "parkade.rules.yml"), "utf8")).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);
const dashboard: Dashboard = JSON.parse(readFileSync(join(FOLDER, "grafana/parkade.json"), "utf8"));
const charted = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

let parkade: TestConsole;
let scraped: string;
beforeAll(async () => {
  parkade = await testConsole();
  scraped = (await parkade.call(metrics.GET)).text;
});
afterAll(() => parkade.close());

/** Names of metrics in an expression of PromQL: words that are not followed by a bracket, without labels and strings. */
function metricsIn(expr: string): string[] {
  const bare = expr.replace(/\{[^}]*\}/g, " ").replace(/\b(by|without)\s*\([^)]*\)/g, " ");
  const words = bare.match(/\b[a-zA-Z_][a-zA-Z0-9_:]*\b(?!\s*\()/g) ?? [];
  return words.filter((word) => !["and", "or", "unless", "offset", "bool"].includes(word) && !/^\d/.test(word));
}

test("the rules and the dashboard name only metrics that /metrics has", () => {
  const known = new Set([...scraped.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
  for (const { record } of rules) if (record) known.add(record);
  // Prometheus itself says whether it could scrape.
  known.add("up");
  const expressions = [...rules.map(({ expr }) => expr), ...charted];
  expect(expressions.flatMap(metricsIn).filter((name) => !known.has(name))).toEqual([]);
  expect(expressions.flatMap(metricsIn).length).toBeGreaterThan(40);
});

test("each alert has a runbook, and each runbook of the table in docs/operate.md has an alert", () => {
  const runbooks = readdirSync(join(FOLDER, "../runbooks"));
  const named = new Set(rules.flatMap(({ annotations }) => annotations?.runbook.replace("docs/runbooks/", "") ?? []));
  expect([...named].filter((name) => !runbooks.includes(name))).toEqual([]);
  const table = readFileSync(join(FOLDER, "../operate.md"), "utf8").matchAll(
    /^\| [^|]+ \| `[^|]+\| \[([a-z-]+)\]\(runbooks\//gm,
  );
  const told = [...table].map(([, runbook]) => `${runbook}.md`);
  expect(told.length).toBeGreaterThan(12);
  // Parkade's own rule judges contracts: /metrics does not say which rule an alert is of.
  expect(told.filter((runbook) => !named.has(runbook))).toEqual(["contract-broken.md"]);
});

test("panels have ids and titles of their own", () => {
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  expect(new Set(dashboard.panels.map(({ title }) => title)).size).toBe(dashboard.panels.length);
});

type AlertCase = {
  alert: string;
  labels: Record<string, string>;
  summary: string;
  fires: Record<string, string>;
  silent: Record<string, string>;
  interval?: string;
};

const seriesOf = (series: Record<string, string>) =>
  Object.entries(series).map(([name, values]) => ({ series: name, values }));
type RuleTest = ReturnType<typeof ruleTest>;
const metricsOf = ({ input_series: series }: RuleTest) => series.map(({ series: name }) => name.split("{")[0]);

/** Joins a test to one that has none of its metrics: promtool computes all rules at each minute of each test. */
function together(joined: RuleTest[], next: RuleTest): RuleTest[] {
  const names = new Set(metricsOf(next));
  const fit = joined.find((one) => one.interval === next.interval && !metricsOf(one).some((name) => names.has(name)));
  if (!fit) return [...joined, next];
  fit.input_series.push(...next.input_series);
  fit.alert_rule_test.push(...next.alert_rule_test);
  return joined;
}

const ruleTest = (interval: string, series: Record<string, string>, check: object) => ({
  interval,
  input_series: seriesOf(series),
  alert_rule_test: [check],
});

/** Each alert fires on the first series and stays silent on the second; the rules give it these labels and this summary. */
const ALERT_CASES: AlertCase[] = [
  {
    alert: "ParkadeParkedEventsGrow",
    labels: { severity: "warning" },
    summary: "2.07k events are parked, over 200 more than half an hour ago.",
    // Level at the end: whether the evaluation of that minute comes before the look is left open.
    fires: {
      'dlq_size{source="orders",error_code="TIMEOUT",instance="a"}': "900+10x116 2070x10",
      'dlq_size{source="orders",error_code="TIMEOUT",instance="b"}': "900+10x116 2070x10",
    },
    silent: {
      'dlq_size{source="orders",error_code="TIMEOUT",instance="a"}': "900+1x120",
      'dlq_size{source="orders",error_code="TIMEOUT",instance="b"}': "900+1x120",
    },
  },
  {
    alert: "ParkadeEventsWaitTooLong",
    labels: { severity: "warning" },
    summary: "One parked event in twenty is older than 1d 1h 0m 0s.",
    fires: { message_age_p95: "90000x120" },
    silent: { message_age_p95: "80000x120" },
  },
  {
    alert: "ParkadeRedrivesComeBack",
    labels: { severity: "warning" },
    summary: "Of the redrives that were settled in 24 h, 50% succeeded.",
    fires: { redrive_success_rate: "0.5x120" },
    silent: { redrive_success_rate: "0.97x120" },
  },
  {
    alert: "ParkadeTargetCutOff",
    labels: { severity: "warning", target: "orders" },
    summary: "The circuit breaker of orders is open.",
    fires: { 'breaker_open{target="orders"}': "1x120" },
    silent: { 'breaker_open{target="orders"}': "1 1 1 0 1 1 1 0x60" },
  },
  {
    alert: "ParkadeNoWorker",
    labels: { severity: "critical" },
    summary: "No worker is alive: nothing is redriven, and no source is read.",
    fires: { workers_alive: "0x120" },
    silent: { workers_alive: "1x120" },
  },
  {
    alert: "ParkadeAlertsNotEvaluated",
    labels: { severity: "critical" },
    summary: "The rules of alerts were evaluated 2m 0s ago.",
    fires: { parkade_alert_evaluation_age_seconds: "120x120" },
    silent: { parkade_alert_evaluation_age_seconds: "14x120" },
  },
  {
    alert: "ParkadeSendsStopped",
    labels: { severity: "warning", scope: "everything" },
    summary: "A person stopped the sends half an hour ago or earlier.",
    fires: { 'parkade_stopped{scope="everything"}': "1x120" },
    silent: { 'parkade_stopped{scope="everything"}': "1x20 0x100" },
  },
  {
    alert: "ParkadeRedrivePaused",
    labels: { severity: "warning" },
    summary: "2 redrives are paused.",
    fires: { 'redrives{state="PAUSED"}': "2x120" },
    silent: { 'redrives{state="PAUSED"}': "2x20 0x100" },
  },
  {
    alert: "ParkadeRedriveRuleStopped",
    labels: { severity: "warning" },
    summary: "1 rules of redrives stopped themselves.",
    fires: { 'redrive_rules{state="stopped"}': "1x120" },
    silent: { 'redrive_rules{state="stopped"}': "0x120" },
  },
  {
    alert: "ParkadeApprovalWaits",
    labels: { severity: "warning" },
    summary: "A request for approval has waited for 2h 0m 0s.",
    fires: { approval_oldest_seconds: "7200x120" },
    silent: { approval_oldest_seconds: "600x120" },
  },
  {
    alert: "ParkadeRedriveWaits",
    labels: { severity: "warning" },
    summary: "3 redrives wait for a circuit breaker.",
    fires: { 'redrives_waiting{for="breaker"}': "3x120" },
    silent: { 'redrives_waiting{for="breaker"}': "3x40 0x80" },
  },
  {
    alert: "ParkadeSourceFails",
    labels: { severity: "warning", source: "orders" },
    summary: "The dead letters of orders cannot be read.",
    fires: { 'parkade_source_consumers{source="orders",state="failing"}': "1x120" },
    silent: { 'parkade_source_consumers{source="orders",state="failing"}': "1x3 0x117" },
  },
  {
    alert: "ParkadeAlertNotAcknowledged",
    labels: { severity: "critical" },
    summary: "4 critical alerts of Parkade fire, and nobody acknowledged them.",
    fires: { 'parkade_alerts{severity="critical",acknowledged="false"}': "4x120" },
    silent: { 'parkade_alerts{severity="critical",acknowledged="true"}': "4x120" },
  },
  {
    alert: "ParkadeAlertsReachNobody",
    labels: { severity: "warning" },
    summary: "5 messages about alerts were given up.",
    fires: { 'parkade_alert_messages{status="FAILED"}': "5x120" },
    silent: { 'parkade_alert_messages{status="FAILED"}': "0x120" },
  },
  {
    alert: "ParkadeAlertMessagesWait",
    labels: { severity: "warning" },
    summary: "6 messages about alerts wait to be sent.",
    fires: { 'parkade_alert_messages{status="NEW"}': "6x120" },
    silent: { 'parkade_alert_messages{status="NEW"}': "6x5 0x115" },
  },
  {
    alert: "ParkadeConfirmationsGivenUp",
    labels: { severity: "warning" },
    summary: "7 confirmations were given up.",
    fires: { 'outbox_messages{status="FAILED"}': "7x120" },
    silent: { 'outbox_messages{status="NEW"}': "7x120" },
  },
  {
    alert: "ParkadeIntakeStopped",
    labels: { severity: "critical" },
    summary: "The intake of events is stopped, because the store has no room for more.",
    fires: { parkade_intake_stopped: "1x120" },
    silent: { parkade_intake_stopped: "0x120" },
  },
  {
    alert: "ParkadeConsoleGone",
    labels: { severity: "critical" },
    summary:
      "No web process of Parkade answers: see whether it runs, and whether /readyz names the store or the queue.",
    fires: { 'up{job="parkade"}': "0x120" },
    silent: { 'up{job="parkade",instance="a"}': "0x120", 'up{job="parkade",instance="b"}': "1x120" },
  },
  {
    alert: "ParkadeSourceSilent",
    labels: { severity: "warning", source: "orders" },
    summary: "Nothing arrived from orders in an hour; a day ago it was more than 20.",
    interval: "5m",
    fires: { 'parkade_intake_arrivals_total{source="orders",outcome="parked",instance="a"}': "0+10x288 2880x40" },
    silent: { 'parkade_intake_arrivals_total{source="orders",outcome="parked",instance="a"}': "0+10x330" },
  },
  {
    alert: "ParkadeSendsSlowedDown",
    labels: { severity: "warning", target: "stock" },
    summary: "Self-healing slows the sends to stock down by 2 steps.",
    fires: { 'healing_steps{target="stock",instance="a"}': "2x120" },
    silent: { 'healing_steps{target="stock",instance="a"}': "0x120" },
  },
  {
    alert: "ParkadeAuditBroken",
    labels: { severity: "critical" },
    summary: "A check of the audit found that somebody changed it.",
    fires: { 'parkade_audit_good{extent="recent",instance="a"}': "1x100 0x20" },
    silent: { 'parkade_audit_good{extent="recent",instance="a"}': "1x120" },
  },
  {
    alert: "ParkadeAuditNotChecked",
    labels: { severity: "warning" },
    summary: "The last good check of the whole audit ended 2d 0h 0m 1s ago.",
    fires: { 'parkade_audit_good_age_seconds{extent="whole",instance="a"}': "172801x120" },
    silent: { 'parkade_audit_good_age_seconds{extent="whole",instance="a"}': "86400x120" },
  },
  {
    alert: "ParkadeAuditUnsealed",
    labels: { severity: "critical" },
    summary: "An entry of the audit has waited 11m 0s for its seal.",
    fires: { 'parkade_audit_unsealed_oldest_seconds{instance="a"}': "660x120" },
    silent: { 'parkade_audit_unsealed_oldest_seconds{instance="a"}': "2x120" },
  },
];

describeWith(missing, "promtool", () => {
  const promtool = (args: string[], options: { cwd?: string; input?: string } = {}) => {
    const { status, stdout, stderr } = spawnSync("promtool", args, { ...options, encoding: "utf8" });
    return { status, said: stdout + stderr };
  };

  test("finds no fault in /metrics", () => {
    expect(promtool(["check", "metrics"], { input: scraped })).toEqual({ status: 0, said: "" });
  });

  test("finds no fault in the rules", () => {
    expect(promtool(["check", "rules", "parkade.rules.yml"], { cwd: FOLDER })).toMatchObject({ status: 0 });
  });

  test("fires each alert on its series, and on no other", () => {
    const fired = (alert: string) => rules.find((rule) => rule.alert === alert)!.annotations!.runbook;
    const tests = ALERT_CASES.flatMap(({ alert, labels, summary, fires, silent, interval = "1m" }) => {
      const at = interval === "1m" ? ["119m", "100m"] : ["1515m", "1515m"];
      const expected = [{ exp_labels: labels, exp_annotations: { summary, runbook: fired(alert) } }];
      return [
        ruleTest(interval, fires, { eval_time: at[0], alertname: alert, exp_alerts: expected }),
        ruleTest(interval, silent, { eval_time: at[1], alertname: alert, exp_alerts: [] }),
      ];
    }).reduce(together, []);
    expect(ALERT_CASES.map(({ alert }) => alert).toSorted()).toEqual(
      rules.flatMap(({ alert }) => alert ?? []).toSorted(),
    );
    // What lasts for a day is computed as often as its series has values.
    for (const interval of ["1m", "5m"])
      expect(
        ruleTests(
          tests.filter((one) => one.interval === interval),
          interval,
        ),
      ).toContain("SUCCESS");
  });

  test("computes the ratios over all processes", () => {
    const arrivals = (outcome: string, instance: string) =>
      `parkade_intake_arrivals_total{source="orders",outcome="${outcome}",instance="${instance}"}`;
    const calls = (name: string, worker: string) => `${name}{target="stock",worker="${worker}",instance="a"}`;
    const sample = (expr: string, labels: string) => [
      { expr, eval_time: "10m", exp_samples: [{ labels: `${expr}${labels}`, value: 0.25 }] },
    ];
    const tests = [
      {
        interval: "1m",
        input_series: seriesOf({
          [arrivals("parked", "a")]: "0+180x10",
          [arrivals("parked", "b")]: "0+180x10",
          [arrivals("duplicate", "a")]: "0+60x10",
          [arrivals("duplicate", "b")]: "0+60x10",
          'parkade_intake_arrivals_total{source="quiet",outcome="duplicate",instance="a"}': "7x10",
        }),
        promql_expr_test: sample("parkade:dup_drop_ratio", '{source="orders"}'),
      },
      {
        interval: "1m",
        input_series: seriesOf({
          [calls("retry_operations_total", "v")]: "0+120x10",
          [calls("retry_operations_total", "w")]: "0+120x10",
          [calls("retry_failed_total", "v")]: "0+12x10",
          [calls("retry_failed_total", "w")]: "0+48x10",
        }),
        promql_expr_test: sample("parkade:error_ratio", '{target="stock"}'),
      },
    ];
    expect(rules.filter(({ record }) => record?.endsWith("_ratio"))).toHaveLength(tests.length);
    expect(ruleTests(tests)).toContain("SUCCESS");
  });

  /** What promtool says of tests of the rules: it reads YAML, of which JSON is a part. */
  function ruleTests(tests: object[], interval = "1m"): string {
    const folder = mkdtempSync(join(tmpdir(), "parkade-rules-"));
    try {
      cpSync(join(FOLDER, "parkade.rules.yml"), join(folder, "parkade.rules.yml"));
      const file = join(folder, "rules.test.json");
      writeFileSync(file, JSON.stringify({ rule_files: ["parkade.rules.yml"], evaluation_interval: interval, tests }));
      return promtool(["test", "rules", file]).said;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test("understands each expression of the dashboard, and the scrape configuration", () => {
    const folder = mkdtempSync(join(tmpdir(), "parkade-monitoring-"));
    try {
      const file = join(folder, "dashboard.rules.json");
      const recorded = charted.map((expr, index) => ({ record: `panel:${index}`, expr }));
      writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules: recorded }] }));
      expect(promtool(["check", "rules", file])).toMatchObject({ status: 0 });
      // The file with the token is where compose puts it: here it is another one.
      cpSync(FOLDER, folder, { recursive: true });
      const config = join(folder, "prometheus.yml");
      const token = join(folder, "token");
      writeFileSync(token, "pk_none");
      writeFileSync(config, readFileSync(config, "utf8").replace("/etc/prometheus/parkade-token", token));
      expect(promtool(["check", "config", config])).toMatchObject({ status: 0 });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
