import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const page = readFileSync("docs/operate.md", "utf8");
const cells = (row: string) => row.split("|").map((cell) => cell.trim());
const rowsOf = (head: string) => {
  const [, table = ""] = page.split(new RegExp(`^\\| ${head} .*\\n.*\\n`, "m"));
  return table
    .split(/\n(?!\|)/)[0]!
    .split("\n")
    .map(cells);
};
const alerts = rowsOf("alert").map(([, name, expression, runbook]) => ({
  name,
  metrics: [...expression!.matchAll(/[a-z]+(?:_[a-z\d]+)+/g)].map(([metric]) => metric),
  runbooks: [...runbook!.matchAll(/\(runbooks\/([\w-]+\.md)\)/g)].map(([, file]) => file!),
}));

test("each alert of docs/operate.md is about a documented metric and leads to its runbook", () => {
  const documented = rowsOf("metric").flatMap(([, names]) => names!.match(/\w+/g) ?? []);
  expect(alerts.length).toBeGreaterThan(10);
  for (const { name, metrics, runbooks } of alerts) {
    expect(runbooks, name).not.toEqual([]);
    for (const metric of metrics) {
      expect(documented, name).toContain(metric);
      for (const file of runbooks) expect(readFileSync(`docs/runbooks/${file}`, "utf8"), name).toContain(metric);
    }
  }
  expect(alerts.flatMap(({ runbooks }) => runbooks).sort()).toEqual(readdirSync("docs/runbooks").sort());
});
