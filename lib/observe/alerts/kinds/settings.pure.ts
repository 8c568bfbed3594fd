import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Windows over which arrivals and outcomes are counted. Few, so that rules share their reads. */
export const WINDOWS_MS = [5, 15, 30, 60, 180, 360, 720, 1_440].map((minutes) => minutes * MINUTE_MS);

type Look = { label: string; hint?: string };
/** `unit`: what one typed unit is in the rule: a day is typed as 1 and stored in milliseconds. */
type Typed = Look & { unit: number };

/** A field of a rule: the API checks it, the form shows it, and the type of the rule follows from it. */
export type Setting =
  | (Typed & { input: "count"; min: number; initial: number })
  | (Typed & { input: "duration"; min: number; max: number; initial: number })
  /** `min` and `max` are included. */
  | (Typed & { input: "factor"; min: number; max: number; initial: number })
  /** Above 0 and below 1. */
  | (Typed & { input: "share"; initial: number })
  | (Look & { input: "window"; initial: number })
  /** Absent = all. */
  | (Look & { input: "names"; charactersMax: number; placeholder: string })
  | (Look & { input: "tick"; initial: boolean })
  | (Look & { input: "choices"; choices: readonly string[] });

export type Settings = Readonly<Record<string, Setting>>;

type ValueOf<Of> = Of extends { input: "tick" }
  ? boolean
  : Of extends { input: "choices"; choices: readonly (infer Choice)[] }
    ? readonly Choice[]
    : number;
type Optional<Of> = { [Name in keyof Of]: Of[Name] extends { input: "names" } ? Name : never }[keyof Of];
export type ValuesOf<Of> = { [Name in Exclude<keyof Of, Optional<Of>>]: ValueOf<Of[Name]> } & {
  [Name in Optional<Of>]?: readonly string[] | undefined;
};

export const count = <const Of extends Look & { min: number; initial: number }>(of: Of) =>
  ({ input: "count", unit: 1, ...of }) as const;
export const hours = <const Of extends Look & { min: number; initial: number }>(of: Of) =>
  ({ input: "duration", unit: HOUR_MS, max: 365 * DAY_MS, ...of }) as const;
const minutes = <const Of extends Look & { min: number; initial: number }>(of: Of) =>
  ({ input: "duration", unit: MINUTE_MS, max: 7 * DAY_MS, ...of }) as const;

export const AT_LEAST = count({ label: "at least (events)", hint: "fewer do not fire", min: 1, initial: 50 });
export const WINDOW = { input: "window", label: "counted over", initial: 15 * MINUTE_MS } as const;
export const QUIET = hours({ label: "quiet time (hours)", min: HOUR_MS, initial: DAY_MS });
export const BELOW_SHARE = { input: "share", unit: 0.01, label: "below (%)", initial: 0.8 } as const;

const names = <const Of extends Look & { charactersMax: number; placeholder: string }>(of: Of) =>
  ({ input: "names", ...of }) as const;

/** The sources that a rule is about. */
export const SCOPE = {
  sources: names({
    label: "sources",
    placeholder: "orders, billing",
    hint: "none = every source",
    charactersMax: TEXT_MAX.sourceName,
  }),
} as const;
export const CODED = {
  ...SCOPE,
  errorCodes: names({
    label: "error codes",
    placeholder: "TIMEOUT",
    hint: "none = every code",
    charactersMax: TEXT_MAX.errorCode,
  }),
} as const;
/** Without `perSource` the sources of the scope are one sum. */
export const COUNTED = { perSource: { input: "tick", label: "per source", initial: true }, ...CODED } as const;

/**
 * The times of every rule. Its condition must hold for `forMs` before an alert fires, and must not hold for `clearMs` before the
 * alert is resolved. A firing alert that nobody acknowledged is sent again after `repeatMs`; null = never.
 */
export const TIMES = {
  forMs: minutes({ label: "fires after (min)", hint: "0 = at once", min: 0, initial: 0 }),
  clearMs: minutes({ label: "ends after (min)", hint: "without its cause", min: 0, initial: 5 * MINUTE_MS }),
  repeatMs: minutes({ label: "repeat every (min)", hint: "empty = never", min: 5 * MINUTE_MS, initial: 4 * HOUR_MS }),
};
export type Times = { forMs: number; clearMs: number; repeatMs: number | null };
