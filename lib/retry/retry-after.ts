/**
 * Reads a Retry-After value: delay-seconds (digits only) or one of the three forms of an HTTP-date.
 * Source: RFC 9110, 10.2.3 and 5.6.7. Everything else ("1.5", "1e3", "+5", a list, ISO 8601, an impossible date) is
 * malformed and ignored: a hint that is guessed could send earlier than asked.
 *
 * @param wallMs wall clock, epoch milliseconds: a date is relative to it
 * @returns milliseconds to wait (0 for a date in the past), null when malformed
 */
export function parseRetryAfter(value: string, wallMs: number): number | null {
  const seconds = parseDelayMs(value);
  if (seconds !== null) return Math.min(seconds * 1000, Number.MAX_SAFE_INTEGER);
  const dateMs = parseHttpDate(value.trim(), wallMs);
  return dateMs === null ? null : Math.max(0, dateMs - wallMs);
}

/**
 * Reads a delay given in whole milliseconds, such as retry-after-ms, x-amz-retry-after or gRPC's pushback; null if
 * malformed. Always finite: more digits than a number holds are the longest wait there is, not a malformed one.
 */
export function parseDelayMs(value: string): number | null {
  return /^\d+$/.test(value.trim()) ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : null;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const DAY_LONG = "(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)";
const TIME = "(\\d{2}):(\\d{2}):(\\d{2})";
const IMF_FIXDATE = new RegExp(`^${DAY}, (\\d{2}) ([A-Z][a-z]{2}) (\\d{4}) ${TIME} GMT$`);
const RFC_850 = new RegExp(`^${DAY_LONG}, (\\d{2})-([A-Z][a-z]{2})-(\\d{2}) ${TIME} GMT$`);
const ASCTIME = new RegExp(`^${DAY} ([A-Z][a-z]{2}) ([ \\d]\\d) ${TIME} (\\d{4})$`);

/** Epoch milliseconds of an HTTP-date in any of its forms, or null. An RFC 850 year lies at most 50 years after `wallMs`. */
export function parseHttpDate(value: string, wallMs: number): number | null {
  const modern = IMF_FIXDATE.exec(value);
  if (modern) {
    const [, day, month, year, ...time] = modern;
    return utc(Number(year), month!, Number(day), time);
  }
  const ancient = ASCTIME.exec(value);
  if (ancient) {
    const [, month, day, hour, minute, second, year] = ancient;
    return utc(Number(year), month!, Number(day), [hour!, minute!, second!]);
  }
  const obsolete = RFC_850.exec(value);
  if (!obsolete) return null;
  const [, day, month, shortYear, ...time] = obsolete;
  const thisYear = new Date(wallMs).getUTCFullYear();
  let year = thisYear - (thisYear % 100) + Number(shortYear);
  if (year > thisYear + 50) year -= 100;
  else if (year <= thisYear - 50) year += 100;
  return utc(year, month!, Number(day), time);
}

function utc(year: number, monthName: string, day: number, time: readonly string[]): number | null {
  const month = MONTHS.indexOf(monthName);
  const [hour, minute, second] = time.map(Number) as [number, number, number];
  // 60 is a leap second, which RFC 9110 allows in the grammar.
  if (month < 0 || hour > 23 || minute > 59 || second > 60) return null;
  const ms = Date.UTC(year, month, day, hour, minute, second);
  // Date.UTC rolls 31 February over into March; an impossible day is malformed.
  return new Date(Date.UTC(year, month, day)).getUTCDate() === day ? ms : null;
}
