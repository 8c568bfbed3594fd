/** Texts of numbers, times and ids, equal on every page and in the terminal. The time and the zone are arguments. */

/** Absolute times are shown in one zone: UTC, as in logs, or the zone of this machine. */
export type Zone = "utc" | "local";

const integer = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });

/** `12,481` */
export function formatNumber(value: number): string {
  return integer.format(value);
}

/** `999`, `12.5k`, `3.2M`: for axes and chips, which are narrow. */
export function formatCompact(value: number): string {
  if (Math.abs(value) < 1_000) return String(Math.round(value * 10) / 10);
  const [scaled, unit] = Math.abs(value) < 999_500 ? [value / 1_000, "k"] : [value / 1_000_000, "M"];
  return `${scaled.toFixed(Math.abs(scaled) < 99.95 ? 1 : 0).replace(/\.0$/, "")}${unit}`;
}

/** `0.5/s`, `5/s`, `21.4/s` */
export function formatRate(perSecond: number): string {
  return `${perSecond >= 100 ? formatNumber(perSecond) : Math.round(perSecond * 10) / 10}/s`;
}

/** A share (0 to 1) as `98.2%`; `100%` and `0%` only for exactly these shares. */
export function formatShare(share: number): string {
  const percent = share * 100;
  if (share < 1 && percent > 99.9) return "99.9%";
  if (share > 0 && percent < 0.1) return "0.1%";
  return `${percent.toFixed(1).replace(/\.0$/, "")}%`;
}

const UNITS = ["B", "KB", "MB", "GB"] as const;

/** Bytes as `812 B`, `1.4 KB`, `3 MB` (powers of 1024). */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit > 0 && value < 9.95 ? 1 : 0;
  return `${value.toFixed(digits).replace(/\.0$/, "")} ${UNITS[unit]}`;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in its two largest units: `240 ms`, `8 s`, `41 min`, `9h 12m`, `6d 4h`. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) {
    const minutes = Math.floor((ms % HOUR) / MINUTE);
    return minutes === 0 ? `${Math.floor(ms / HOUR)}h` : `${Math.floor(ms / HOUR)}h ${minutes}m`;
  }
  const hours = Math.floor((ms % DAY) / HOUR);
  return hours === 0 ? `${Math.floor(ms / DAY)}d` : `${Math.floor(ms / DAY)}d ${hours}h`;
}

/** `just now`, `40s ago`, `3m ago`, `9h ago`, `6d ago`; the future as `in 12m`. One unit, for a narrow column. */
export function formatAgo(atMs: number, nowMs: number): string {
  const distance = Math.abs(nowMs - atMs);
  if (distance < 5 * SECOND) return "just now";
  const [size, unit] =
    distance < MINUTE ? [SECOND, "s"] : distance < HOUR ? [MINUTE, "m"] : distance < DAY ? [HOUR, "h"] : [DAY, "d"];
  const text = `${Math.floor(distance / (size as number))}${unit}`;
  return atMs > nowMs ? `in ${text}` : `${text} ago`;
}

const two = (value: number) => String(value).padStart(2, "0");

function parts(ms: number, zone: Zone) {
  const at = new Date(ms);
  return zone === "utc"
    ? [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), at.getUTCHours(), at.getUTCMinutes(), at.getUTCSeconds()]
    : [at.getFullYear(), at.getMonth(), at.getDate(), at.getHours(), at.getMinutes(), at.getSeconds()];
}

/** `2026-11-20 14:02:11 UTC`; in the local zone with its offset: `2026-11-20 15:02:11 +01:00`. */
export function formatAbsolute(ms: number, zone: Zone): string {
  const [year, month, day, hour, minute, second] = parts(ms, zone) as [number, number, number, number, number, number];
  const text = `${year}-${two(month + 1)}-${two(day)} ${two(hour)}:${two(minute)}:${two(second)}`;
  if (zone === "utc") return `${text} UTC`;
  const offset = -new Date(ms).getTimezoneOffset();
  const size = Math.abs(offset);
  return `${text} ${offset < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** `14:02:11` */
export function formatClock(ms: number, zone: Zone): string {
  return formatAbsolute(ms, zone).slice(11, 19);
}

/** `20 Nov 14:02`: for axes and dense rows. */
export function formatShort(ms: number, zone: Zone): string {
  const [, month, day, hour, minute] = parts(ms, zone) as [number, number, number, number, number, number];
  const name = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][month];
  return `${day} ${name} ${two(hour)}:${two(minute)}`;
}

/** Removes the middle of a long id: `9f31c0…10c2`. A short id stays whole. */
export function shortenId(id: string, head = 8, tail = 4): string {
  // Split by characters: a character beyond 16 bits is two units, and half of it is not valid text.
  const characters = [...id];
  if (characters.length <= head + tail + 2) return visible(id);
  return visible(`${characters.slice(0, head).join("")}…${characters.slice(-tail).join("")}`);
}

/**
 * Characters that are invisible or that change the direction of text: controls, soft hyphens, fillers, zero-width
 * characters, direction marks and tags. The joiners and selectors of emoji are not among them.
 */
const INVISIBLE =
  /(?![\t\n\r])\p{Cc}|(?!\p{Variation_Selector}|\u200d)\p{Default_Ignorable_Code_Point}|(?<!\p{Extended_Pictographic}|\ufe0f|\p{Emoji_Modifier})\u200d|[\u2028\u2029\ufff9-\ufffb]/gu;

/**
 * A text from outside, with its invisible characters shown by their numbers: `PAYMENT⟨202E⟩DEKCOLB`. It is then
 * displayed in the order of its characters, and two different ids look different. For display only: a copied or sent
 * text is unchanged.
 */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    return `⟨${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** `1 event`, `12 events`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}
