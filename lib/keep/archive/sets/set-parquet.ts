import { zstdCompressSync } from "node:zlib";
import { ByteWriter, parquetWrite, type SchemaElement } from "hyparquet-writer";
import type { EventColumns } from "@/lib/keep/records/event-columns.pure";

type Kind = "text" | "int32" | "int64" | "time";

/** In the order of the file. `?`: may be null. */
const COLUMNS = {
  id: "text",
  source: "text",
  eventId: "text",
  aggregateId: "text?",
  aggregateType: "text?",
  version: "int64?",
  eventType: "text?",
  errorCode: "text",
  fingerprint: "text",
  status: "text",
  attempts: "int32",
  bounces: "int32",
  firstSeen: "time",
  lastAttemptAt: "time?",
  confirmedAt: "time?",
  payloadBytes: "int32",
  traceId: "text?",
  errorType: "text?",
  errorMessage: "text?",
  tags: "text",
} as const satisfies Record<keyof EventColumns, Kind | `${Kind}?`>;

const NAMES = Object.keys(COLUMNS) as (keyof EventColumns)[];

const ELEMENTS: Record<Kind, Omit<SchemaElement, "name">> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  int32: { type: "INT32" },
  int64: { type: "INT64" },
  time: { type: "INT64", logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" } },
};

/** `firstSeen` is `first_seen`. */
const columnName = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const SCHEMA: SchemaElement[] = [
  { name: "events", num_children: NAMES.length },
  ...NAMES.map((name): SchemaElement => {
    const kind = COLUMNS[name];
    return {
      name: columnName(name),
      repetition_type: kind.endsWith("?") ? "OPTIONAL" : "REQUIRED",
      ...ELEMENTS[kind.replace("?", "") as Kind],
    };
  }),
];

const COMPRESSORS = { ZSTD: (bytes: Uint8Array) => zstdCompressSync(bytes) };

/** Of one group of rows; a set has up to 2,000. */
const ROWS_MAX = 100_000;
/** Bytes of a text in the statistics: an id whole. */
const STATISTICS_BYTES_MAX = 64;

/** A Parquet file of these events, the oldest first, with the least and the greatest value and the nulls of each column. */
export async function packParquet(events: readonly EventColumns[]): Promise<Uint8Array> {
  const sorted = events.toSorted((left, right) => (left.id < right.id ? -1 : 1));
  const writer = new ByteWriter();
  parquetWrite({
    writer,
    schema: SCHEMA,
    columnData: NAMES.map((name) => ({ name: columnName(name), data: sorted.map((event) => event[name]) })),
    codec: "ZSTD",
    compressors: COMPRESSORS,
    rowGroupSize: ROWS_MAX,
    statisticsTruncateLength: STATISTICS_BYTES_MAX,
    createdBy: "parkade",
  });
  return writer.getBytes();
}
