import { abortable } from "@/lib/brokers/abortable";
import { addressOf, describeOutbox, openPool } from "@/lib/brokers/outbox/connection";
import { type OutboxConfig, outbox } from "@/lib/brokers/outbox/kind.shapes";
import { letterOf, type OutboxRow, orderColumn, rowSql, VERSION } from "@/lib/brokers/outbox/row";
import { countDead, deadSql, deadValues, type OutboxTable, openTable } from "@/lib/brokers/outbox/table";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import { atMost, type Clock } from "@/lib/platform/clock";
import type { PostgresPool } from "@/lib/platform/postgres-pool";

const BATCH_MAX = 500;
/** How often it looks when there was nothing. */
const POLL_MS = 500;
/** A look that takes long is repeated this many times more rarely: a table without an index must not be read all day. */
const POLL_FACTOR = 5;
/** A statement under way is waited for this long. */
const CLOSE_MS_MAX = 2_000;

type Handle = { id: string; version: string };

/**
 * What was read and parked before, by transaction: without a parked status a row stays as it is. Every transaction below
 * has ended, and each of its dead rows is parked. It outlives a lost connection, not the process.
 */
type Progress = { belowTransaction: bigint | null };

export function outboxReader(config: OutboxConfig, { clock, addresses }: AdapterDeps): Reader<Handle> {
  const progress: Progress = { belowTransaction: null };
  return {
    what: outbox.reads(config)!,
    batchMax: BATCH_MAX,
    holdFromDeliveries: Number.POSITIVE_INFINITY,
    open: async (signal) => {
      const pool = openPool(config, { name: "parkade-source", max: 2, addresses });
      try {
        const table = await abortable(openTable(pool, config), signal);
        return new OutboxSession(pool, table, { config, clock, progress });
      } catch (error) {
        void pool.end();
        throw error;
      }
    },
    describe: (error) => describeOutbox(error, config),
  };
}

type Page = { rows: OutboxRow[]; isLast: boolean };

const key = ({ id, version }: Handle) => `${version}\n${id}`;

/**
 * Reads the dead rows again and again, from the first to the last. With a parked status an acknowledged row is not dead
 * any more. Without one each pass leaves out what earlier passes have seen: the rows of transactions below `horizon`, and
 * single ones above it. A transaction that was open when a pass began lies above its horizon, whenever it commits.
 */
class OutboxSession implements ReadSession<Handle> {
  readonly inHandMax = Number.POSITIVE_INFINITY;
  private readonly pool: PostgresPool;
  private readonly table: OutboxTable;
  private readonly config: OutboxConfig;
  private readonly clock: Clock;
  private readonly progress: Progress;
  private readonly inHand = new Set<string>();
  /** Acknowledged rows of transactions that a later pass looks at again. */
  private readonly handled = new Map<string, bigint>();
  private horizon: bigint | null;
  /** What `horizon` becomes at the end of this pass; null between two passes. */
  private nextHorizon: bigint | null = null;
  private position: { order: string | null; id: string } | null = null;
  private passStartedMs = 0;
  /** A page that came when its caller had gone. */
  private kept: Page | null = null;
  private closed = false;

  constructor(
    pool: PostgresPool,
    table: OutboxTable,
    { config, clock, progress }: { config: OutboxConfig; clock: Clock; progress: Progress },
  ) {
    this.pool = pool;
    this.table = table;
    this.config = config;
    this.clock = clock;
    this.progress = progress;
    this.horizon = progress.belowTransaction;
  }

  async take(max: number, signal: AbortSignal, withinMs = Number.POSITIVE_INFINITY): Promise<Taken<Handle>[]> {
    const untilMs = this.clock.nowMs() + withinMs;
    while (!signal.aborted && this.clock.nowMs() < untilMs) {
      const page = this.kept ?? (await this.page(max));
      this.kept = signal.aborted ? page : null; // the pass has moved on: what was read must be handed out
      if (signal.aborted) return [];
      const { rows, isLast } = page;
      const fresh = rows.filter((row) => !this.inHand.has(key(row)) && !this.handled.has(key(row)));
      const passMs = this.clock.nowMs() - this.passStartedMs;
      if (isLast) this.endPass();
      if (isLast && fresh.length === 0) this.saveProgress();
      if (fresh.length > 0) return fresh.map((row) => this.taken(row));
      if (!isLast) continue;
      const sleepMs = Math.min(Math.max(POLL_MS, passMs * POLL_FACTOR), untilMs - this.clock.nowMs());
      await this.clock.sleep(Math.max(sleepMs, 0), signal).catch(() => undefined); // stopped
    }
    return [];
  }

  /** The next rows of the pass, in the order of the table. */
  private async page(max: number): Promise<Page> {
    const { table, position } = this;
    if (this.nextHorizon === null) {
      this.passStartedMs = this.clock.nowMs();
      const { rows } = await this.pool.query<{ below: string }>(
        "select pg_snapshot_xmin(pg_current_snapshot())::text as below",
      );
      this.nextHorizon = BigInt(rows[0]!.below);
    }
    const { id } = table.columns;
    const order = orderColumn(table);
    const values: unknown[] = [...deadValues(table), this.horizon === null ? null : String(this.horizon)];
    let after = "";
    if (position !== null) {
      values.push(position.id, position.order);
      const byId = `${id.sql} > $5::${id.type}`;
      const byOrder = `${order.sql} > $6::${order.type} or (${order.sql} = $6::${order.type} and ${byId}) or ${order.sql} is null`;
      after =
        position.order === null ? ` and ${order.sql} is null and ${byId} and $6::text is null` : ` and (${byOrder})`;
    }
    const text = `select ${rowSql(table)} from ${table.sql}
      where ${deadSql(table)} and ($4::bigint is null or ${VERSION} >= $4::bigint)${after}
      order by ${order.sql} nulls last, ${id.sql} limit ${max}`;
    const { rows } = await this.pool.query<OutboxRow>(text, values);
    const last = rows.at(-1);
    if (last !== undefined) this.position = { order: last.position, id: last.id };
    return { rows, isLast: rows.length < max };
  }

  private endPass(): void {
    this.position = null;
    const below = this.nextHorizon!;
    this.nextHorizon = null;
    if (this.table.parkedStatus !== null) return;
    this.horizon = below;
    for (const [handled, transaction] of this.handled) if (transaction < below) this.handled.delete(handled);
  }

  private taken(row: OutboxRow): Taken<Handle> {
    this.inHand.add(key(row));
    return { letter: letterOf(row, this.config), handle: { id: row.id, version: row.version }, deliveries: 0 };
  }

  async acknowledge(handles: readonly Handle[]): Promise<void> {
    if (this.table.parkedStatus !== null) await this.writeParked(handles, this.table.parkedStatus);
    for (const handle of handles) {
      this.inHand.delete(key(handle));
      if (this.table.parkedStatus === null) this.remember(handle);
    }
    this.saveProgress();
  }

  /** At the end of a pass, and with nothing in hand: that would be lost with the connection, and must be read again. */
  private saveProgress(): void {
    if (this.inHand.size === 0 && this.nextHorizon === null) this.progress.belowTransaction = this.horizon;
  }

  private remember(handle: Handle): void {
    const transaction = BigInt(handle.version);
    const below = this.nextHorizon ?? this.horizon;
    if (below === null || transaction >= below) this.handled.set(key(handle), transaction);
  }

  /** A row that has changed since it was read stays as it is: its new version is read, too. */
  private async writeParked(handles: readonly Handle[], parked: string): Promise<void> {
    const { columns, sql } = this.table;
    await this.pool.query(
      `update ${sql} as o set ${columns.status.sql} = $4::text::${columns.status.type}
         from unnest($5::text[], $6::text[]) as parked (id, version)
        where o.${columns.id.sql} = parked.id::${columns.id.type} and o.xmin::text = parked.version
          and ${deadSql(this.table, "o.")}`,
      [
        ...deadValues(this.table),
        parked,
        handles.map(({ id }) => id),
        handles.map(({ version }) => String(BigInt.asUintN(32, BigInt(version)))),
      ],
    );
  }

  /** Without a parked status the rows of a pass that has not ended are counted with those that were parked before. */
  async lag(): Promise<Lag> {
    const all = this.table.parkedStatus !== null || this.horizon === null;
    return { total: all ? await countDead(this.pool, this.table) : this.inHand.size, parts: [] };
  }

  assertOpen(): void {
    if (this.closed) throw new Error(`the connection to ${addressOf(this.config)} is closed`);
  }

  async close(graceful: boolean): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    const ended = this.pool.end().catch(() => undefined);
    if (graceful) await atMost(this.clock, CLOSE_MS_MAX, ended);
  }
}
