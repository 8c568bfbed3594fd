import * as z from "zod/mini";
import type { QueryOf } from "@/lib/platform/api/query.shapes";
import { described } from "@/lib/platform/api/schemas.shapes";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import {
  type EventFilter,
  FILTER_SHAPE,
  fromSearchParams,
  resolveWindow,
} from "@/lib/selection/filter/event-filter.shapes";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";
import { NARROW_DAYS } from "@/lib/states/flow.pure";

/** What the rollups know of an event; a chart by anything else would be a scan. */
const ROLLED_UP = [
  "source",
  "errorCode",
  "fingerprint",
  "status",
  "not.source",
  "not.errorCode",
  "not.status",
] as const;
type RolledUp = (typeof ROLLED_UP)[number];

export type StatsQuery = {
  filter: Pick<EventFilter, RolledUp>;
  fromMs: number;
  toMs: number;
  bucketMs: number;
  /** Whether `from` or `to` was asked for; without them the window is the last day. */
  windowed: boolean;
};

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** The window of charts and arrivals where none is asked for. */
export const WINDOW_DEFAULT_MS = DAY_MS;
const WINDOW_MS_MAX = 400 * DAY_MS;
/** Widths a chart is cut into when it does not say: the first that gives at most BUCKETS_AIM. */
const WIDTHS_MS = [1, 5, 10, 15, 30, 60, 180, 360, 720, 1440, 10_080].map((minutes) => minutes * MINUTE_MS);
const BUCKETS_AIM = 120;
const BUCKETS_MAX = 2_000;
const UNITS: Record<string, number> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

function invalid(
  field: string,
  detail: string,
  code: "invalid-filter" | "unsupported-filter" | "invalid-window" = "invalid-window",
): DomainError {
  return new DomainError(code, `${field} ${detail}`, { fields: [{ field, detail }] });
}

/**
 * Reads `?from=&to=&bucket=&filter`. `bucket` is like `5m`, `1h`, `1d`; buckets begin at multiples of it (UTC). `known`
 * are the names this chart can restrict by. Throws DomainError `invalid-filter` or `invalid-window`.
 */
export function statsQueryFrom(params: URLSearchParams, nowMs: number, known: readonly RolledUp[]): StatsQuery {
  const { from, to, ...filter } = fromSearchParams(params, ["bucket"]);
  for (const name of Object.keys(filter)) {
    if ((known as readonly string[]).includes(name)) continue;
    throw invalid(name, `is not available in charts: use ${known.join(", ")}`, "invalid-filter");
  }
  const window = resolveWindow({ from, to }, nowMs);
  const toMs = window.toMs ?? nowMs;
  const fromMs = window.fromMs ?? toMs - WINDOW_DEFAULT_MS;
  if (fromMs > toMs) throw invalid("from", "is after now: give to as well");
  if (toMs - fromMs > WINDOW_MS_MAX) throw invalid("from", "is too far before to: at most 400 days");
  return {
    filter,
    ...narrowed({ fromMs, toMs, bucketMs: bucketOf(params.get("bucket"), toMs - fromMs) }, nowMs),
    windowed: from !== undefined || to !== undefined,
  };
}

type Span = Pick<StatsQuery, "fromMs" | "toMs" | "bucketMs">;

/** What is older than a week is kept by the hour: there a window begins and ends at full hours, and its buckets are of hours. */
function narrowed({ fromMs, toMs, bucketMs }: Span, nowMs: number): Span {
  const narrowFromMs = Math.floor(nowMs / DAY_MS) * DAY_MS - NARROW_DAYS * DAY_MS;
  if (fromMs >= narrowFromMs) return { fromMs, toMs, bucketMs };
  return {
    fromMs: Math.floor(fromMs / HOUR_MS) * HOUR_MS,
    toMs: toMs < narrowFromMs ? Math.ceil(toMs / HOUR_MS) * HOUR_MS : toMs,
    bucketMs: Math.ceil(bucketMs / HOUR_MS) * HOUR_MS,
  };
}

const bucket = described(
  z.optional(z.string().check(z.regex(/^[1-9][0-9]{0,3}[mhd]$/))),
  "Width of a bucket: 5m, 1h, 1d; chosen by the window when absent, and whole hours where it begins more than a week ago",
);

/** As `statsQueryFrom`, for a route. */
export function statsQuery(known: readonly RolledUp[], readFrom = statsQueryFrom): QueryOf<StatsQuery> {
  const names = [...known, "from", "to"] as const;
  const parameters = Object.fromEntries(names.map((name) => [name, FILTER_SHAPE[name]]));
  return {
    parameters: { ...parameters, bucket },
    problems: ["invalid-filter", "unsupported-filter", "invalid-window"],
    read: (params, nowMs) => readFrom(params, nowMs, known),
  };
}

const TOP_ERRORS_NAMES = ["source", "errorCode", "status", "not.source", "not.errorCode", "not.status"] as const;

/** As `topErrorsQueryFrom`, for a route. */
export const topErrorsQuery = statsQuery(TOP_ERRORS_NAMES, topErrorsQueryFrom);

/**
 * The query of top errors: without a window it counts what is parked now, with one what arrived in it. A status belongs
 * to the first only: what arrived has had several. Throws DomainError `invalid-filter` or `unsupported-filter`.
 */
export function topErrorsQueryFrom(params: URLSearchParams, nowMs: number): StatsQuery {
  const query = statsQueryFrom(params, nowMs, TOP_ERRORS_NAMES);
  const status = (["status", "not.status"] as const).find((name) => query.filter[name] !== undefined);
  if (query.windowed && status !== undefined) {
    throw invalid(status, "is of now, and from and to ask for what arrived then: leave one of them out");
  }
  const refined = [...(query.filter.status ?? []), ...(query.filter["not.status"] ?? [])].find(
    (one) => !(EVENT_STATUSES as readonly string[]).includes(one),
  );
  if (refined !== undefined) {
    throw invalid(
      "status",
      `${refined} is not available in charts: use ${EVENT_STATUSES.join(", ")}`,
      "unsupported-filter",
    );
  }
  return query;
}

function bucketOf(text: string | null, windowMs: number): number {
  if (text === null) return WIDTHS_MS.find((width) => windowMs / width <= BUCKETS_AIM) ?? WIDTHS_MS.at(-1)!;
  const match = /^(\d{1,4})([mhd])$/.exec(text);
  const width = match ? Number(match[1]) * UNITS[match[2]!]! : 0;
  if (width === 0) throw invalid("bucket", "must be like 5m, 1h or 1d", "invalid-filter");
  if (windowMs / width > BUCKETS_MAX)
    throw invalid("bucket", `makes more than ${BUCKETS_MAX} buckets: use a wider one`);
  return width;
}

export function bucketStarts({ fromMs, toMs, bucketMs }: Pick<StatsQuery, "fromMs" | "toMs" | "bucketMs">): number[] {
  const starts: number[] = [];
  for (let at = Math.floor(fromMs / bucketMs) * bucketMs; at < toMs || starts.length === 0; at += bucketMs)
    starts.push(at);
  return starts;
}
