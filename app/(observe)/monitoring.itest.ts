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

describeWith(missing, "promtool", () => {
  const promtool = (args: string[], options: { cwd?: string; input?: string } = {}) => {
    const { status, stdout, stderr } = spawnSync("promtool", args, { ...options, encoding: "utf8" });
    return { status, said: stdout + stderr };
  };

  test("finds no fault in /metrics", () => {
    expect(promtool(["check", "metrics"], { input: scraped })).toEqual({ status: 0, said: "" });
  });

  test("runs the tests of the rules: each alert fires, and each stays silent", () => {
    expect(promtool(["check", "rules", "parkade.rules.yml"], { cwd: FOLDER })).toMatchObject({ status: 0 });
    const tested = promtool(["test", "rules", "parkade.rules.test.yml"], { cwd: FOLDER });
    expect(tested.said).toContain("SUCCESS");
    expect(tested.status).toBe(0);
    const cases: { name: string }[] = parse(readFileSync(join(FOLDER, "parkade.rules.test.yml"), "utf8")).tests;
    const alerts = rules.flatMap(({ alert }) => alert ?? []);
    const names = cases.map(({ name }) => name);
    for (const ratio of rules.flatMap(({ record }) => (record?.endsWith("_ratio") ? [record] : [])))
      expect(names.some((name) => name.startsWith(`${ratio} is`))).toBe(true);
    expect(names.filter((name) => !name.startsWith("parkade:")).sort()).toEqual(
      alerts.flatMap((alert) => [`${alert} fires`, `${alert} stays silent`]).sort(),
    );
  });

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
