import { streamResponse } from "@/app/_server/intake/ndjson";
import type { EventOut } from "@/lib/events/events.shapes";
import { exportEvents } from "@/lib/events/list/event-export.read";
import { REVEAL_REASON } from "@/lib/guard/masking/mask-rules.shapes";
import { assertMay, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { exportRecords } from "@/lib/keep/records/export-records";
import { fileShape } from "@/lib/platform/api/schemas.shapes";
import { iso } from "@/lib/platform/plain/iso-time.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { filterQuery } from "@/lib/selection/filter/event-filter.shapes";
import { revealReason } from "./payload";

export const exportQuery = filterQuery({
  ...fileShape,
  reason: REVEAL_REASON,
});
type ExportQuery = ReturnType<typeof exportQuery.read>;
type File = Pick<ExportQuery, "format" | "bom"> & { name: string };

/**
 * All matching events as a file, a page in memory at a time: the columns of the list as CSV, masked, or each event whole as a
 * line, with a reason. The first page is read before the answer begins.
 */
export async function exportResponse(
  deps: Parameters<typeof exportRecords>[0],
  viewer: Viewer,
  { filter, format, bom, reason }: ExportQuery,
  { request, nowMs }: { request: Request; nowMs: number },
): Promise<Response> {
  const name = fileName(filter, nowMs);
  if (format === "csv") {
    return fileResponse(exportEvents(deps.lists, viewer, filter, nowMs), { columns: CSV_COLUMNS, format, bom, name });
  }
  assertMay(viewer, "export");
  const asked = { filter, reason: revealReason(request, viewer, reason) };
  return textResponse(joined(await exportRecords(deps, viewer, asked, nowMs)), { format, name });
}

async function* joined(pieces: AsyncGenerator<string[], void>): AsyncGenerator<string> {
  for await (const piece of pieces) yield piece.join("");
}

/** Rows as a file. The first page is read before the answer begins. */
export async function fileResponse<Row extends object>(
  pages: AsyncGenerator<Row[], void>,
  { columns, format, bom, name }: File & { columns: readonly (keyof Row & string)[] },
): Promise<Response> {
  const first = await pages.next();
  const head = bom === "true" ? "\ufeff" : "";
  return textResponse(textOf(first, pages, format === "csv" ? { columns, head } : null), { format, name });
}

/** Rows as lines of JSON. The first page is read before the answer begins. @param name of the file, before its time */
export function lineResponse<Row extends object>(
  pages: AsyncGenerator<Row[], void>,
  name: string,
  nowMs: number,
): Promise<Response> {
  return fileResponse(pages, { columns: [], format: "ndjson", bom: "false", name: `${name}-${minuteOf(nowMs)}` });
}

function textResponse(texts: AsyncIterable<string>, { format, name }: Omit<File, "bom">): Response {
  return streamResponse(texts, {
    "content-type": format === "csv" ? "text/csv; charset=utf-8; header=present" : "application/x-ndjson",
    "content-disposition": `attachment; filename="${name}.${format}"`,
    "x-content-type-options": "nosniff",
  });
}

const FILE_NAME_MAX = 80;

/** `events-orders-TIMEOUT-20261122T0244Z`: the name holds the filter, so that two exports of one day differ. */
export function fileName({ source, errorCode, status }: EventFilter, nowMs: number): string {
  const named = ["events", ...(source ?? []), ...(errorCode ?? []), ...(status ?? [])].join("-");
  // What a header and every file system take.
  return `${named.replaceAll(/[^A-Za-z0-9._-]+/g, "_").slice(0, FILE_NAME_MAX)}-${minuteOf(nowMs)}`;
}

const minuteOf = (nowMs: number) => `${iso(nowMs).slice(0, 16).replaceAll(/[-:]/g, "")}Z`;

/** `csv`: null = NDJSON. */
async function* textOf<Row extends object>(
  first: IteratorResult<Row[], void>,
  pages: AsyncGenerator<Row[], void>,
  csv: { columns: readonly (keyof Row & string)[]; head: string } | null,
): AsyncGenerator<string> {
  if (csv !== null) yield `${csv.head}${csv.columns.join(",")}\r\n`;
  const line = (row: Row) =>
    csv === null ? `${JSON.stringify(row)}\n` : `${csv.columns.map((column) => csvField(row[column])).join(",")}\r\n`;
  try {
    for (let page = first; !page.done; page = await pages.next()) yield page.value.map(line).join("");
  } finally {
    await pages.return();
  }
}

const CSV_COLUMNS = [
  ...(["id", "source", "eventId", "aggregateType", "aggregateId", "version", "eventType", "errorCode"] as const),
  ...([
    "fingerprint",
    "status",
    "attempts",
    "bounces",
    "firstSeen",
    "failedAt",
    "lastAttemptAt",
    "lastErrorCode",
  ] as const),
  ...([
    "lastError",
    "lastOperator",
    "redriveAt",
    "confirmedAt",
    "cooldownUntil",
    "traceId",
    "payloadBytes",
    "tags",
    "revision",
    "firstFailedAt",
  ] as const),
] satisfies (keyof EventOut)[];

/** Blank or invisible characters that a spreadsheet skips before it looks for a formula. */
const SKIPPED = "[\\s\\u0000-\\u001f\\u00ad\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff]*";
/** What begins a formula, also in full width, as spreadsheets of East Asia read it; and blanks that begin a cell. */
const FORMULA = new RegExp(`^(?:${SKIPPED}[=+\\-@\\uff1d\\uff0b\\uff0d\\uff20]|[\\t\\r\\n])`);

/**
 * RFC 4180. Text that a spreadsheet would run as a formula gets an apostrophe: it comes from producers, not from us.
 * Quoted as well when it holds what separates cells where a comma is for decimals.
 */
export function csvField(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",;\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
