import { appendAudit } from "@/lib/guard/audit/audit.write";
import { type Action, assertMay, sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { Deps } from "@/lib/lane/deps";
import { cutPage, type IdPage } from "@/lib/platform/api/id-page.shapes";
import type { Queryable, Tx } from "@/lib/platform/database/db";
import { inTransaction } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import type { AuditSubject } from "@/lib/platform/plain/audit-entry.pure";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import { DomainError, type ProblemCode } from "@/lib/platform/plain/problem.pure";
import { sqlState } from "@/lib/platform/postgres-pool";

/**
 * Describes rows that people create, change and remove, such as channels or rules. SQL is text over the table `t` and over `$1`,
 * the sources that the viewer sees (null = all).
 */
type Description<Row, Computed extends keyof Row, Out> = {
  table: string;
  /** Its fields are the columns, in snake case. */
  schema: { shape: Record<keyof Row, unknown> };
  /** Columns with another name. */
  columns?: Partial<Record<keyof Row, string>>;
  /** SQL of fields that are not read as they are stored. */
  computed?: Record<Computed, string>;
  /** SQL: the viewer sees the row. Other rows are unknown to that viewer. */
  seen: string;
  /** Of `list`; absent = the newest first. */
  order?: string;
  /** The field that names a row in paths and in the audit. */
  key: "id" | "name";
  subject: AuditSubject;
  verbs: { create: string; remove: string };
  needs: Action;
  /** The sources that a change of the row concerns; null = every source. */
  sourcesOf(row: Stored<Row, Computed>): readonly string[] | null;
  audited(row: Stored<Row, Computed>): object;
  /** Code, message, and where to look for the rows that exist. */
  unknown(key: string): readonly [ProblemCode & `unknown-${string}`, string, string];
  /** The error for a row that breaks a unique key. */
  taken?(row: Stored<Row, Computed>): DomainError;
  /** Runs first in each transaction that changes rows, before any of them is locked. */
  enter?(tx: Tx): Promise<unknown>;
  /** The rows as the API answers them. Absent = as they are. */
  out?(rows: Row[], db: Queryable, viewer: Viewer): Out[] | Promise<Out[]>;
};
type Stored<Row, Computed extends keyof Row> = Omit<Row, Computed>;
type Values<Row> = { [Field in keyof Row]?: Row[Field] | undefined };
/** `beside`: what the audit says of the new state beside `audited`. */
type Change<Row> = { set: Values<Row>; verb?: string; beside?: object };
type Asked = { key: string; reason?: string | undefined };

export type NounDeps = Pick<Deps, "db" | "clock">;
export type Edit = { actor: string; atMs: number };

/**
 * List, read, create, change and remove, with scope, version check and audit entry. What one kind of row alone needs stays a
 * function of its folder. Identifiers in statements come from the description and values are parameters, so no text of a request
 * becomes SQL.
 */
export class Noun<Row extends { id: string }, Computed extends keyof Row = never, Out = Row> {
  readonly #noun: Description<Row, Computed, Out>;

  constructor(noun: Description<Row, Computed, Out>) {
    this.#noun = noun;
  }

  async list(db: Queryable, viewer: Viewer): Promise<Out[]> {
    return this.#read(db, viewer, `true order by ${this.#noun.order ?? "t.id desc"}`, []);
  }

  /** A page of rows in the order of their ids. `where`: SQL with parameters from `$4`. */
  async page(
    db: Queryable,
    viewer: Viewer,
    { limit, cursor }: IdPage,
    where = "true",
    values: readonly unknown[] = [],
  ): Promise<{ items: Out[]; nextCursor: string | null }> {
    const within = `${where} and ($2::uuid is null or t.id < $2) order by t.id desc limit $3`;
    const rows = await this.#read(db, viewer, within, [cursor, limit + 1, ...values]);
    return cutPage(rows, limit, (row) => (row as Out & { id: string }).id);
  }

  /** Throws the noun's error of an unknown row. */
  async read(db: Queryable, viewer: Viewer, key: string): Promise<Out> {
    const [row] = await this.#read(db, viewer, `t.${this.#noun.key} = $2`, [key]);
    if (!row) throw this.unknown(key);
    return row;
  }

  unknown(key: string): DomainError {
    const [code, message, detail] = this.#noun.unknown(key);
    return new DomainError(code, message, { fields: [{ field: this.#noun.key, detail }] });
  }

  /** Throws DomainError `forbidden`. */
  assertMayChange(viewer: Viewer, row: Stored<Row, Computed>): void {
    assertMay(viewer, this.#noun.needs, this.#noun.sourcesOf(row) ?? "all");
  }

  /** The stored row, locked until the transaction ends. Throws DomainError `forbidden` and the noun's error of an unknown row. */
  async lock(tx: Tx, viewer: Viewer, key: string): Promise<Stored<Row, Computed>> {
    const { table, schema, computed, seen, key: by } = this.#noun;
    const stored = Object.keys(schema.shape).filter((field) => !(computed && field in computed));
    const [row] = await tx.query<Stored<Row, Computed>>(
      `select ${stored.map((field) => this.#selected(field))} from ${table} t where ${seen} and t.${by} = $2 for update`,
      [viewer.sources === "all" ? null : viewer.sources, key],
      { isoTimes: true },
    );
    if (!row) throw this.unknown(key);
    this.assertMayChange(viewer, row);
    return row;
  }

  /**
   * `work` checks the new row in its transaction and may add to it. Throws DomainError `forbidden` and the noun's error of a taken
   * name.
   */
  async create(
    { db, clock }: NounDeps,
    { reason, set, beside }: Pick<Asked, "reason"> & Change<Row>,
    viewer: Viewer,
    work?: (tx: Tx, edit: Edit & { id: string }) => Promise<Values<Row>>,
  ): Promise<Out> {
    const { table, key, verbs, enter } = this.#noun;
    const edit = { actor: viewer.name, atMs: clock.wallMs() };
    this.assertMayChange(viewer, set as Row);
    const id = uuidv7(edit.atMs);
    const name = await inTransaction(db, async (tx) => {
      await enter?.(tx);
      const row = { id, ...set, ...(await work?.(tx, { ...edit, id })) } as Row;
      const stamps = { createdBy: edit.actor, createdAt: iso(edit.atMs), ...this.#stamps(edit) };
      const { columns, record, json } = this.#record({ ...row, ...stamps });
      await this.#write(tx, row, `insert into ${table} (${columns}) select ${columns} from ${record}`, [json]);
      await this.#audit(tx, edit, { verb: verbs.create, reason, before: null, after: row, beside });
      return row[key as keyof Row] as string;
    });
    return this.read(db, viewer, name);
  }

  /**
   * `work` decides on the change of the locked row; null = nothing changes. Throws DomainError `forbidden`, `illegal-transition` for
   * a row that has another version than `version`, and the noun's errors of an unknown row and of a taken name.
   */
  async change(
    { db, clock }: NounDeps,
    { key, version, reason }: Asked & { version?: number | undefined },
    viewer: Viewer,
    work: (tx: Tx, stored: Stored<Row, Computed>, edit: Edit) => Promise<Change<Row> | null> | Change<Row> | null,
  ): Promise<Out> {
    const { table, enter } = this.#noun;
    const edit = { actor: viewer.name, atMs: clock.wallMs() };
    await inTransaction(db, async (tx) => {
      await enter?.(tx);
      const before = await this.lock(tx, viewer, key);
      if (version !== undefined) assertVersion(before, version);
      const change = await work(tx, before, edit);
      if (change === null) return;
      const set = Object.fromEntries(Object.entries(change.set).filter(([, value]) => value !== undefined));
      const after = { ...before, ...set } as Row;
      this.assertMayChange(viewer, after);
      const { columns, record, json } = this.#record({ ...set, ...this.#stamps(edit) });
      const update = `update ${table} set (${columns}) = (select ${columns} from ${record}) where id = $2`;
      await this.#write(tx, after, update, [json, after.id]);
      await this.#audit(tx, edit, { verb: change.verb ?? "changed", reason, before, after, beside: change.beside });
    });
    return this.read(db, viewer, key);
  }

  /** `work` runs before the row is removed. Throws DomainError `forbidden` and the noun's error of an unknown row. */
  async remove(
    { db, clock }: NounDeps,
    { key, reason }: Asked,
    viewer: Viewer,
    work?: (tx: Tx, stored: Stored<Row, Computed>) => Promise<unknown>,
  ): Promise<void> {
    const { table, verbs, enter } = this.#noun;
    const edit = { actor: viewer.name, atMs: clock.wallMs() };
    await inTransaction(db, async (tx) => {
      await enter?.(tx);
      const before = await this.lock(tx, viewer, key);
      await work?.(tx, before);
      await tx.run(`delete from ${table} where id = $1`, [(before as Row).id]);
      await this.#audit(tx, edit, { verb: verbs.remove, reason, before, after: null });
    });
  }

  async #read(db: Queryable, viewer: Viewer, where: string, values: readonly unknown[]): Promise<Out[]> {
    const { table, schema, computed, seen, out } = this.#noun;
    const shown = Object.keys(schema.shape).map((field) => {
      const sql = computed?.[field as Computed];
      return sql === undefined ? this.#selected(field) : `${sql} as "${field}"`;
    });
    const rows = await db.query<Row>(
      `select ${shown} from ${table} t where ${seen} and ${where}`,
      [sourceScope(viewer), ...values],
      { isoTimes: true },
    );
    return out ? out(rows, db, viewer) : (rows as unknown as Out[]);
  }

  /** Values by field as one parameter, and the columns that it fills. */
  #record(values: object): { columns: string; record: string; json: string } {
    const byColumn = Object.entries(values).map(([field, value]) => [this.#column(field), value ?? null] as const);
    return {
      columns: byColumn.map(([column]) => column).join(", "),
      record: `jsonb_populate_record(null::${this.#noun.table}, $1::jsonb)`,
      json: JSON.stringify(Object.fromEntries(byColumn)),
    };
  }

  #selected(field: string): string {
    return `t.${this.#column(field)} as "${field}"`;
  }

  #column(field: string): string {
    const { schema, columns } = this.#noun;
    if (!Object.hasOwn(schema.shape, field)) throw new TypeError(`${this.#noun.table} has no field ${field}`);
    return columns?.[field as keyof Row] ?? field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  }

  #stamps({ actor, atMs }: Edit): object {
    return "updatedBy" in this.#noun.schema.shape ? { updatedBy: actor, updatedAt: iso(atMs) } : {};
  }

  async #write(tx: Tx, row: Row, statement: string, values: readonly unknown[]): Promise<void> {
    try {
      await tx.run(statement, values);
    } catch (error) {
      throw sqlState(error) === UNIQUE_VIOLATION && this.#noun.taken ? this.#noun.taken(row) : error;
    }
  }

  async #audit(
    tx: Tx,
    edit: Edit,
    entry: {
      verb: string;
      reason: string | undefined;
      before: Stored<Row, Computed> | null;
      after: Row | null;
      beside?: object | undefined;
    },
  ): Promise<void> {
    const { subject, key, audited } = this.#noun;
    const { verb, reason = null, before, after, beside } = entry;
    const { [key as keyof Row]: subjectId } = (before ?? after) as Row;
    await appendAudit(tx, {
      ...edit,
      ...{ action: `${subject}.${verb}`, subjectKind: subject, subjectId: subjectId as string, reason, count: 1 },
      before: before && audited(before),
      after: after && { ...audited(after), ...beside },
    });
  }
}

const UNIQUE_VIOLATION = "23505";

function assertVersion(row: { version?: unknown }, asked: number): void {
  if (asked === row.version) return;
  throw new DomainError("illegal-transition", `The rule has version ${row.version} now: read it again`, {
    fields: [{ field: "version", detail: `is now ${row.version}` }],
  });
}
