import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import {
  brokerSettings,
  choice,
  field,
  list,
  text,
  urlOf,
  WITH_A_PASSWORD,
  wholeNumber,
} from "@/lib/brokers/kinds/fields.shapes";

const COLUMN_NAMES = [
  "id",
  "payload",
  "status",
  "aggregateType",
  "aggregateId",
  "eventType",
  "headers",
  "attempts",
  "error",
  "created",
  "order",
  "availableAt",
] as const;
/** The parts of a row that Parkade reads or writes; each is a column of the table. */
export type OutboxColumn = (typeof COLUMN_NAMES)[number];
/** A row without one of these is no event, or cannot be sent again. */
export const REQUIRED_COLUMNS: readonly OutboxColumn[] = ["id", "payload", "status"];

type Layout = { columns: Partial<Record<OutboxColumn, string>>; dead: string[]; fresh: string };

const SNAKE_CASE = {
  id: "id",
  aggregateType: "aggregate_type",
  aggregateId: "aggregate_id",
  eventType: "event_type",
  payload: "payload",
  headers: "headers",
  status: "status",
  attempts: "attempts",
  error: "last_error",
  created: "created_at",
  order: "seq",
};

const LAYOUTS: Record<"parkade" | "typical" | "debezium", Layout> = {
  /** The table of parkade/outbox. */
  parkade: { columns: { ...SNAKE_CASE, availableAt: "available_at" }, dead: ["FAILED"], fresh: "NEW" },
  typical: { columns: { ...SNAKE_CASE, availableAt: "next_attempt_at" }, dead: ["DEAD", "FAILED"], fresh: "PENDING" },
  /** Debezium's event router names five columns; those of a status are what a polling publisher adds to them. */
  debezium: {
    columns: {
      id: "id",
      aggregateType: "aggregatetype",
      aggregateId: "aggregateid",
      eventType: "type",
      payload: "payload",
      headers: "headers",
      status: "status",
      attempts: "attempts",
      error: "error",
      created: "timestamp",
    },
    dead: ["DEAD", "FAILED"],
    fresh: "NEW",
  },
};

const plain = <T extends z.ZodMiniType<string>>(schema: T) =>
  schema.check(z.refine((value) => !value.includes("\u0000"), "contains a NUL character"));
const identifier = plain(text(1, 63));
const status = plain(text(1, 200));
const tableName = plain(text(1, 127)).check(
  z.refine((name) => /^[^.]{1,63}(\.[^.]{1,63})?$/.test(name), "must be a table such as outbox or app.outbox"),
);

const column = (label: string, hint: string, example: string) =>
  field(z.optional(identifier), { label, hint, example, advanced: true });

const config = z.strictObject({
  url: field(urlOf(["postgres:", "postgresql:"], "postgresql://db.example:5432/orders"), {
    label: "PostgreSQL URL",
    hint: `?sslmode=require encrypts and checks the certificate. The path is the database. ${WITH_A_PASSWORD}`,
    example: "postgresql://db.example:5432/orders?sslmode=require",
    role: "address",
  }),
  table: field(z._default(tableName, "outbox"), {
    label: "Table",
    hint: "The outbox table, with its schema where that is not the first of the user's search path.",
    example: "app.outbox",
  }),
  layout: field(z._default(choice(["parkade", "typical", "debezium"]), "typical"), {
    label: "Layout",
    hint: "The standard names of columns and statuses. parkade: the table of parkade/outbox.",
  }),
  columns: z.optional(
    z.strictObject({
      id: column("Id column", "The primary key; the event's id.", "id"),
      payload: column("Payload column", "json, jsonb, text or bytea.", "payload"),
      status: column("Status column", "text, varchar or an enum.", "status"),
      aggregateType: column("Aggregate type column", "What the event is about.", "aggregate_type"),
      aggregateId: column("Aggregate id column", "The order of events is kept within it.", "aggregate_id"),
      eventType: column("Event type column", "The name of the event.", "event_type"),
      headers: column("Headers column", "jsonb, json or text: an object, or a list of pairs.", "headers"),
      attempts: column("Attempts column", "Set to 0 by a redrive.", "attempts"),
      error: column("Error column", "The text of the last failure.", "last_error"),
      created: column("Created column", "When the event was written.", "created_at"),
      order: column("Order column", "The order in which rows are read; without it the created column.", "seq"),
      availableAt: column("Next attempt column", "A redrive sets it to now.", "next_attempt_at"),
    }),
  ),
  deadStatuses: field(z.optional(list(20, status)), {
    label: "Dead statuses",
    hint: "Values of the status column that the publisher leaves alone. FAILED for parkade, else DEAD and FAILED.",
    example: "DEAD",
  }),
  newStatus: field(z.optional(status), {
    label: "New status",
    hint: "Written by a redrive: the status at which the publisher sends a row. Default: PENDING for typical, NEW otherwise.",
    example: "NEW",
  }),
  attemptsMax: field(z.optional(wholeNumber(1, 1_000_000)), {
    label: "Attempts",
    hint: "Rows that still have the new status are dead too from this count of attempts on. Needs the attempts column.",
    example: "10",
    advanced: true,
  }),
  parkedStatus: field(z.optional(status), {
    label: "Parked status",
    hint: "Written once a row is parked, so that each row is read once. Without it Parkade writes nothing until a redrive.",
    example: "PARKED",
  }),
  ...brokerSettings,
});
export type OutboxConfig = z.infer<typeof config>;

/** The mapping in use: the names of the layout, with those of the configuration over them. */
export type OutboxNames = {
  columns: Partial<Record<OutboxColumn, string>>;
  /** Named in the configuration: such a column must be there. */
  stated: ReadonlySet<OutboxColumn>;
  deadStatuses: readonly string[];
  newStatus: string;
};

export function outboxNames({ layout, columns = {}, deadStatuses, newStatus }: OutboxConfig): OutboxNames {
  const { columns: customary, dead, fresh } = LAYOUTS[layout];
  return {
    columns: { ...customary, ...columns },
    stated: new Set(COLUMN_NAMES.filter((name) => columns[name] !== undefined)),
    deadStatuses: deadStatuses ?? dead,
    newStatus: newStatus ?? fresh,
  };
}

export const outbox = descriptor({
  kind: "outbox",
  label: "PostgreSQL outbox",
  about: "Reads the failed rows of an outbox table; a redrive sets the row back to new, in place.",
  icon: "table",
  config,
  capabilities: { reads: true, redrives: true, order: "per aggregate, by the table's publisher", slowLane: false },
  destination: [],
  example: { url: "env:PARKADE_SECRET_ORDERS_DB", table: "app.outbox" },
  docs: "connect-outbox.md",
  reads: (config) => `${outboxNames(config).deadStatuses.join(" and ")} rows of table ${config.table}`,
  address: ({ table }) => `table ${table}`,
});
