/** Epoch milliseconds as they go on the wire: ISO 8601 with milliseconds, UTC. */
export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}

/** The years 1 to 9999: beyond them a time is no longer written with four digits. */
export function isInstant(ms: number): boolean {
  return ms >= -62_135_596_800_000 && ms <= 253_402_300_799_999;
}

/** Seconds since 1970 stay below this until the year 5138; milliseconds, microseconds and nanoseconds are a thousand times as large each. */
const SECONDS_BELOW = 1e11;

function epochMs(value: number): number | null {
  if (!(value >= 0 && value < SECONDS_BELOW * 1e9)) return null;
  let ms = value * 1_000;
  for (let below = SECONDS_BELOW; value >= below; below *= 1_000) ms /= 1_000;
  return Math.round(ms);
}

/** `20261129101010` is a day and a time: as milliseconds it would lie in the year 2612. */
const DIGITS_ALONE = /^((?:19|20)\d{6})(\d{6})$/;
/** A number of seconds since 1973 and later, or of a smaller unit. Eight digits are a day. */
const EPOCH = /^\d{9,20}(?:[.,]\d{1,9})?$/;
/** Of a month, of a week (`2026-W48-7`) or of the year (`2026-333`). */
const DAY =
  /(?<year>\d{4})(?:[-/]?(?<month>\d\d)[-/]?(?<day>\d\d)|-?W(?<week>\d\d)-?(?<weekday>[1-7])|-?(?<ordinal>\d{3}))/;
const TIME = /(?<hour>\d\d):?(?<minute>\d\d)(?::?(?<second>\d\d)(?:[.,](?<fraction>\d{1,12}))?)?/;
/** Some write the name of the zone behind its offset: Go `+0000 UTC`, Java `+01:00[Europe/Berlin]`. */
const ZONE = /(?: ?(?<zone>Z|[+-]\d\d(?::?\d\d)?))?(?: (?:UTC|GMT)|\[[\w/+-]{1,64}\])?/;
const ISO = new RegExp(`^${DAY.source}(?:[T ]${TIME.source}${ZONE.source})?$`, "i");
/** The dates of HTTP and of e-mail: `Sun, 29 Nov 2026 10:10:10 GMT`. */
const WRITTEN = /^(?:[a-z]{3}, ?)?(\d{1,2}) ([a-z]{3}) (\d{4}) (\d\d:\d\d(?::\d\d)? ?(?:GMT|UTC|[+-]\d{4}))$/i;
const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");

/** A written date in digits. A name that is no month becomes the month 00, which does not exist. */
const inDigits = (_: string, day: string, month: string, year: string, time: string) =>
  `${year}-${padded(MONTHS.indexOf(month.toLowerCase()) + 1)}-${padded(day)} ${time}`;

const padded = (part: string | number) => String(part).padStart(2, "0");

/**
 * Epoch milliseconds of a point in time as machines write it; null when it is none that exists. A number, also as text, is of seconds,
 * milliseconds, microseconds or nanoseconds by its size. Text is ISO 8601, basic or extended, RFC 3339 with a space, or the date of
 * HTTP and e-mail: midnight without a time of day, UTC without an offset.
 */
export function instantMs(value: unknown): number | null {
  if (typeof value === "number") return epochMs(value);
  if (typeof value !== "string" || value.length > 100) return null;
  const text = value.trim().replace(DIGITS_ALONE, "$1T$2").replace(WRITTEN, inDigits);
  if (EPOCH.test(text)) return epochMs(Number(text.replace(",", ".")));
  const parts = ISO.exec(text)?.groups;
  return parts === undefined ? null : calendarMs(parts);
}

function calendarMs(parts: Record<string, string | undefined>): number | null {
  const part = (name: string) => Number(parts[name] ?? 0);
  const [hour, minute, second] = [part("hour"), part("minute"), part("second")];
  // Midnight may be the end of a day, and a leap second is the first of the next minute.
  if (hour > 24 || minute > 59 || second > 60 || (hour === 24 && minute + second > 0)) return null;
  const day = dayMs(parts);
  if (day === null) return null;
  const offset = offsetMs(parts.zone ?? "Z");
  const milliseconds = Number((parts.fraction ?? "").padEnd(3, "0").slice(0, 3));
  const ms = day + ((hour * 60 + minute) * 60 + second) * 1_000 + milliseconds - (offset ?? Number.NaN);
  return isInstant(ms) ? ms : null;
}

/** Midnight of a day; null when the month or the year does not have it. */
function dayMs(parts: Record<string, string | undefined>): number | null {
  const part = (name: string) => Number(parts[name] ?? 0);
  const day = new Date(0);
  // Date.UTC takes the year 99 for 1999.
  const set = (month: number, date: number) => day.setUTCFullYear(part("year"), month, date);
  if (parts.week !== undefined) {
    // The first week has the fourth of January, and a week belongs to the year of its Thursday.
    set(0, 4);
    const thursday = part("week") * 7 - ((day.getUTCDay() + 6) % 7);
    set(0, thursday);
    if (part("week") === 0 || day.getUTCFullYear() !== part("year")) return null;
    return set(0, thursday + part("weekday") - 4);
  }
  if (parts.ordinal !== undefined) {
    set(0, part("ordinal"));
    return part("ordinal") === 0 || day.getUTCFullYear() !== part("year") ? null : day.getTime();
  }
  set(part("month") - 1, part("day"));
  return day.getUTCMonth() !== part("month") - 1 || day.getUTCDate() !== part("day") ? null : day.getTime();
}

function offsetMs(zone: string): number | null {
  if (/^z$/i.test(zone)) return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(":", "") || 0)];
  if (hours > 23 || minutes > 59) return null;
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}
