import * as z from "zod/mini";

/** Names and bounds go into SQL text as they stand. */
const name = z.string().check(z.regex(/^[a-z_][a-z0-9_]{0,62}$/, "must be a name of lower-case letters, digits and _"));
const count = z.number().check(z.int(), z.minimum(0));
const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/, "must be 64 hex digits"));

/** One table, or one day of a table that has a partition for each day. */
const tableSchema = z.object({
  name,
  columns: z.array(name),
  rows: count,
  /** Of the rows whatever their order, see `RowTally`. */
  sum: z.string().check(z.regex(/^[0-9a-f]{16}$/, "must be 16 hex digits")),
  /** Of the rows as text, unpacked. */
  bytes: count,
  /** Of the packed section of the file. */
  packedBytes: count,
  sha256,
});

const partitionSchema = z.object({
  parent: name,
  name,
  bound: z
    .string()
    .check(z.regex(/^FOR VALUES FROM \('[0-9a-f-]{36}'\) TO \('[0-9a-f-]{36}'\)$/, "must be a range of ids")),
  options: z.array(z.string().check(z.regex(/^[a-z_.]+=[a-z0-9_.-]+$/, "must look like fillfactor=70"))),
});

export const FORMAT = 1;

/** The last part of a backup: what it holds, and what a restore holds it against. */
export const backupManifestSchema = z.object({
  format: z.literal(FORMAT),
  id: z.uuid(),
  /** Version of the Parkade that wrote it. */
  parkade: z.string(),
  /** ISO 8601, UTC, of the store's clock: the moment that the backup shows. */
  madeAt: z.iso.datetime(),
  postgres: z.string(),
  migrations: z.array(z.object({ name: z.string().check(z.regex(/^\w+$/)), sha256 })),
  partitions: z.array(partitionSchema),
  /** Counters of the database: the number that each gave last. */
  sequences: z.array(z.object({ name, last: z.string().check(z.regex(/^\d{1,19}$/)) })),
  /** In the order in which they can be loaded. */
  tables: z.array(tableSchema),
  leftOut: z.array(z.object({ what: z.string(), why: z.string() })),
  archive: z.object({
    /** As a person names it, no secret in it; null = none was configured where the backup was made. */
    place: z.nullable(z.string()),
    /** Objects that hold events which are archived. Each stands in the table archive_objects with its SHA-256. */
    objects: count,
    bytes: count,
    /** The id of the newest; null = there is none. */
    newest: z.nullable(z.uuid()),
  }),
});
export type BackupManifest = z.infer<typeof backupManifestSchema>;
export type BackedUpTable = BackupManifest["tables"][number];
