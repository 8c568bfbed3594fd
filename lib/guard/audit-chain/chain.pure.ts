/** An entry; events that were added to it later; the state of an entry after a forget replaced names in it. */
export type SealKind = "entry" | "subjects" | "redaction";

/** What the hash of a seal covers, beside the hash before it. */
export type HashedSeal = {
  seq: number;
  kind: SealKind;
  entryId: string;
  ref: string;
  /** Hexadecimal: of the columns that nothing may change, or of the events of a part. */
  contentHash: string;
  /** Of the columns in which a forget may replace names; null = a part has none. */
  textHash: string | null;
  sealedAtMs: number;
};

/** The end of the chain at some time. Hashes are hexadecimal. */
export type ChainHead = { seq: number; chainHash: string };
/** `object`: its name in the place, where that has several. */
export type Anchor = ChainHead & { atMs: number; place: string; object?: string };

/** What a check can find, the most telling first. */
export const FINDING_CODES = [
  "changed",
  "deleted",
  "seal-missing",
  "chain-broken",
  "sealed-twice",
  "truncated",
  "rewritten",
  "unsealed",
  "unsealed-subjects",
  "backdated",
  "redaction-without-forget",
  "late",
] as const;
export type FindingCode = (typeof FINDING_CODES)[number];

/** What each finding means, for the page, the CLI and the alert. */
export const FINDING_WORDS: Record<FindingCode, string> = {
  changed: "the entry, or the list of its events, is not what was sealed",
  deleted: "the entry was sealed and is no longer in the store",
  "seal-missing": "a seal is missing before this one",
  "chain-broken": "the seal was changed, moved or put in another order",
  "sealed-twice": "the entry was sealed before",
  truncated: "the chain ended later than it does now: its end was cut off",
  rewritten: "an anchor has another hash: the chain was rewritten",
  unsealed: "the entry was written outside Parkade: it has no seal, and no record that one is due",
  "unsealed-subjects": "events were added to the entry outside Parkade",
  backdated: "the entry was added later than its time claims",
  "redaction-without-forget": "the entry was changed as a forget does, but none ran at that time",
  late: "the entry waits for its seal: no worker seals",
};

export type Finding = {
  code: FindingCode;
  seq: number | null;
  entryId: string | null;
  detail: string;
};

export type ChainReport = {
  good: boolean;
  seals: number;
  entries: number;
  anchors: number;
  /** Entries that a forget changed, which the chain records. */
  redactions: number;
  /** Of the product's role: it may only add to the audit. */
  appendOnly: boolean;
  /** null = nothing is sealed yet. */
  head: ChainHead | null;
  /** The most telling one; null = nothing is wrong. */
  first: Finding | null;
  /** The most telling FINDINGS_MAX, in the order of FINDING_CODES. */
  findings: Finding[];
  findingsTotal: number;
};

export const FINDINGS_MAX = 50;

/** The check that the page shows: one whose finding stands before a newer one that is good. null = there is none yet. */
export function shownCheck<Check>({ last, standing }: { last: Check | null; standing: Check | null }): Check | null {
  return standing ?? last;
}

/** Of each entry that a check finds fault with, the most telling finding. */
export function findingsByEntry({ findings }: Pick<ChainReport, "findings">): Map<string, Finding> {
  const byEntry = new Map<string, Finding>();
  for (const finding of findings)
    if (finding.entryId !== null && !byEntry.has(finding.entryId)) byEntry.set(finding.entryId, finding);
  return byEntry;
}
