import { referenceIn } from "@/lib/guard/redaction/secret-references.pure";
/** The settings of an operator, with defaults and bounds. Durations in milliseconds. */
export type Settings = {
  /** Deliver redrives of an event before it is ignored automatically. */
  redriveLimit: number;
  /** First cooldown after a failed redrive; doubles with each further failure. */
  cooldownMs: number;
  cooldownMsMax: number;
  /** Consecutive redrives with failures or bounces of an aggregate before it is blacklisted automatically. */
  aggregateFailureLimit: number;
  /** A redriven event that has not come back for this long is confirmed. */
  quietWindowMs: number;
  /** How long a canary's step must stay without a bounce before the next one, unless the redrive says otherwise. */
  canaryQuietMs: number;
  /** A redrive or a mend of more events is approved by a second person first; 0 = none is, for its size. */
  approvalAbove: number;
  /** A request for approval that nobody answers for this long expires. */
  approvalWaitMs: number;
  /** Payloads above this are refused by the dry run. */
  payloadBytesMax: number;
  /** Redrives of more events are refused without a reason. */
  reasonRequiredAbove: number;
};

export const SETTING_BOUNDS: { [Name in keyof Settings]: { initial: number; min: number; max: number; text: string } } =
  {
    redriveLimit: { initial: 3, min: 1, max: 100, text: "redrives of an event before it is ignored" },
    cooldownMs: { initial: 15 * 60_000, min: 0, max: 86_400_000, text: "first cooldown after a failed redrive, ms" },
    cooldownMsMax: { initial: 86_400_000, min: 0, max: 30 * 86_400_000, text: "longest cooldown, ms" },
    aggregateFailureLimit: {
      initial: 3,
      min: 1,
      max: 100,
      text: "redrives in a row with failures or bounces before an aggregate is blacklisted",
    },
    quietWindowMs: {
      initial: 10 * 60_000,
      min: 1_000,
      max: 7 * 86_400_000,
      text: "time without a bounce that confirms a redrive, ms",
    },
    canaryQuietMs: {
      initial: 60_000,
      min: 100,
      max: 86_400_000,
      text: "quiet time between the steps of a canary, ms",
    },
    approvalAbove: {
      initial: 0,
      min: 0,
      max: 1_000_000_000,
      text: "events above which a redrive or mend needs a second person's approval, 0 = never",
    },
    approvalWaitMs: {
      initial: 86_400_000,
      min: 60_000,
      max: 30 * 86_400_000,
      text: "time until an unanswered request for approval expires, ms",
    },
    payloadBytesMax: { initial: 1_048_576, min: 1_024, max: 104_857_600, text: "largest payload that is sent, bytes" },
    reasonRequiredAbove: {
      initial: 1_000,
      min: 0,
      max: 1_000_000_000,
      text: "events above which a redrive needs a reason and the typed count",
    },
  };

export const SETTING_NAMES = Object.keys(SETTING_BOUNDS) as (keyof Settings)[];

/** Stored values over the defaults. Unknown names are left out. */
export function settingsFrom(stored: Record<string, unknown>): Settings {
  const settings = {} as Settings;
  for (const name of SETTING_NAMES) {
    const value = stored[name];
    settings[name] = typeof value === "number" ? value : SETTING_BOUNDS[name].initial;
  }
  return settings;
}

/**
 * Why confirmed events cannot be posted to an address, or to the one that a reference stands for; null = they can. Its path and
 * query may hold a token, which is masked; a password before the host is refused, since the receiver has the signature.
 */
export function confirmedUrlFault(text: string): string | null {
  if (referenceIn(text) !== null) return null;
  if (text.includes("***")) return "contains ***, which stands for a hidden value: enter the whole address";
  if (!URL.canParse(text)) return "must look like https://host/path, or env:PARKADE_SECRET_NAME";
  const { protocol, username, password } = new URL(text);
  if (!/^https?:$/.test(protocol)) return "must begin with https:// or http://";
  return username === "" && password === "" ? null : "must not contain a user or password: messages are signed instead";
}

/** Of rows of the outbox that `workers/outbox-publisher.ts` sends to the address in the settings. */
export const CONFIRMED_DESTINATION = "confirmed";
