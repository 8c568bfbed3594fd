import { abortable } from "@/lib/brokers/abortable";
import { everyHeader, repeatedHeaders } from "@/lib/brokers/outbound-headers";
import { addressOf, describeOutbox, openPool } from "@/lib/brokers/outbox/connection";
import { type OutboxConfig, outbox } from "@/lib/brokers/outbox/kind.shapes";
import { OutboxPublisher } from "@/lib/brokers/outbox/publisher";
import { outboxReader } from "@/lib/brokers/outbox/reader";
import { letterOf, type OutboxRow, orderColumn, rowSql } from "@/lib/brokers/outbox/row";
import {
  assertWritable,
  countDead,
  deadSql,
  deadValues,
  type OutboxTable,
  openTable,
} from "@/lib/brokers/outbox/table";
import type { Adapter, AdapterDeps, ProbeResult } from "@/lib/brokers/port";
import { probed, SAMPLE_MAX, sampleOf } from "@/lib/brokers/probe-sample";

/** PostgreSQL outbox tables: reads the rows that their publisher gave up; a redrive makes a row new again in its place. */
export function outboxAdapter(deps: AdapterDeps): Adapter<OutboxConfig> {
  return {
    reader: (config) => outboxReader(config, deps),
    probe: (config, signal) => probe(config, deps, signal),
    publisher: (config) => new OutboxPublisher(config, deps),
    leftOut: (_, message) => {
      const { headersShape } = message.origin;
      if (headersShape === "object") return repeatedHeaders(message, "its last value");
      return headersShape === "other" ? everyHeader(message) : [];
    },
  };
}

function probe(config: OutboxConfig, { addresses }: AdapterDeps, signal: AbortSignal): Promise<ProbeResult> {
  const looked = async () => {
    const pool = openPool(config, { name: "parkade-probe", max: 1, addresses });
    const looking = look(config, pool);
    // Not before the statements are through: an open connection would stay.
    void looking.catch(() => undefined).finally(() => pool.end().catch(() => undefined));
    return await abortable(looking, signal);
  };
  return probed(signal, looked, (error) => describeOutbox(error, config));
}

async function look(config: OutboxConfig, pool: ReturnType<typeof openPool>) {
  const table = await openTable(pool, config);
  const { rows } = await pool.query<OutboxRow>(
    `select ${rowSql(table)} from ${table.sql} where ${deadSql(table)}
      order by ${orderColumn(table).sql} nulls last, ${table.columns.id.sql} limit ${SAMPLE_MAX}`,
    deadValues(table),
  );
  const detail = `connected to ${addressOf(config)}, ${outbox.reads(config)}${redriveFault(table, config)}`;
  const sample = rows.map((row) => sampleOf(letterOf(row, config)));
  return { detail, depth: await countDead(pool, table), sample };
}

/** Events can be parked without the permission to redrive them. */
function redriveFault(table: OutboxTable, config: OutboxConfig): string {
  try {
    assertWritable(table, config);
    return "";
  } catch (error) {
    return `; redrives would fail: ${describeOutbox(error, config)}`;
  }
}
