/**
 * `early`: the failure is permanent, so the event was parked without waiting for the retry limit. `superseded`: the same,
 * because a newer version of its aggregate was processed before it arrived. `confirm`: a person must confirm its redrive.
 */
export const ADMISSION_MARKS = ["early", "superseded", "confirm"] as const;

export type AdmissionMark = (typeof ADMISSION_MARKS)[number];

export type RuleRef = { id: string; name: string; version: number };

/** What the rules did to a parked event, as it is stored with it. */
export type AdmissionRecord = {
  rules: RuleRef[];
  /** The error code with which it arrived; absent = the rules left it. */
  arrivedAs?: string;
  group?: string;
  /** Why it bears its mark: a version that was processed before. */
  finding?: string;
  failed?: (RuleRef & { fault: string })[];
};
