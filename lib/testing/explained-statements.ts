import pg from "pg";
import { afterAll } from "vitest";
import type { Db } from "@/lib/platform/database/db";

export type Plan = {
  "Node Type": string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  "Shared Hit Blocks"?: number;
  "Shared Read Blocks"?: number;
  Plans?: Plan[];
};

/**
 * What a statement that ran has read. `pages`: of 8 KB, an index's and those read again included. `whole`: tables that it scanned from end to
 * end, with the rows of one scan. Their rows count once: the planner scans a table of one page again for each row of another, and how many
 * rows today's partition has depends on the hour.
 */
type Explained = { text: string; rows: number; pages: number; whole: { table: string; rows: number }[] };

/** The scans of tables in a plan, with all rows that each looked at, also those that it left out: together, and in one of its loops. */
export function scansOf(plan: Plan): { table: string; rows: number; each: number; whole: boolean }[] {
  const below = (plan.Plans ?? []).flatMap(scansOf);
  const table = plan["Relation Name"];
  if (table === undefined || !plan["Node Type"].endsWith("Scan")) return below;
  const each =
    plan["Actual Rows"] + (plan["Rows Removed by Filter"] ?? 0) + (plan["Rows Removed by Index Recheck"] ?? 0);
  return [...below, { table, rows: each * plan["Actual Loops"], each, whole: plan["Node Type"] === "Seq Scan" }];
}

function explained({ "Query Text": text, Plan: plan }: { "Query Text": string; Plan: Plan }): Explained {
  const scans = scansOf(plan);
  return {
    text: text.replaceAll(/\s+/g, " ").trim(),
    rows: Math.round(scans.reduce((sum, { rows, each, whole }) => sum + (whole ? each : rows), 0)),
    pages: (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0),
    whole: scans.filter(({ whole }) => whole).map(({ table, each }) => ({ table, rows: Math.round(each) })),
  };
}

/** Settings of auto_explain: the plan of each statement as it ran, to the connection that sent it. */
const SETTINGS = {
  session_preload_libraries: "auto_explain",
  "auto_explain.log_min_duration": "0",
  "auto_explain.log_analyze": "on",
  "auto_explain.log_buffers": "on",
  "auto_explain.log_timing": "off",
  "auto_explain.log_format": "json",
  "auto_explain.log_level": "notice",
};

/**
 * From now on each new connection of this process to the database explains what it runs, with the parameters and settings with which it
 * runs. Returns a function that calls `work` and returns what the statements have read meanwhile, of every pool.
 */
export async function explaining(db: Db): Promise<(work: () => Promise<unknown>) => Promise<Explained[]>> {
  const [{ name }] = (await db.query<{ name: string }>("select current_database() as name")) as [{ name: string }];
  for (const [setting, value] of Object.entries(SETTINGS)) {
    await db.run(`alter database ${name} set ${setting} = '${value}'`);
  }
  const seen: Explained[] = [];
  const { emit } = pg.Client.prototype;
  pg.Client.prototype.emit = function (event: string | symbol, ...facts: unknown[]) {
    const [notice] = facts as [{ message?: string }];
    const json = event === "notice" ? notice.message?.match(/^duration: .*? plan:\n(.*)$/s)?.[1] : undefined;
    if (json !== undefined) seen.push(explained(JSON.parse(json)));
    return emit.call(this, event, ...facts);
  };
  afterAll(() => {
    pg.Client.prototype.emit = emit;
  });
  return async (work) => {
    seen.length = 0;
    await work();
    return seen.slice();
  };
}
