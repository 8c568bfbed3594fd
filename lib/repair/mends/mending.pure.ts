/**
 * What a recipe does to an event. `refused`: its state does not allow a revision, or it has masked values and the author of the
 * mend may not reveal them; whatever the recipe does.
 * `breaks-schema`: it would change to what its JSON Schema refuses.
 */
export const MEND_OUTCOMES = ["changed", "unchanged", "breaks-schema", "failed", "refused"] as const;
export type MendOutcome = (typeof MEND_OUTCOMES)[number];

/** Why a recipe fails for an event, as a person reads it. */
export const MEND_FAILURES = {
  "not-json": "its payload is not JSON in UTF-8",
  "duplicate-name": "a name on the path occurs twice: the path means two values",
  "no-such-place": "the patch names a location that does not exist",
  "place-taken": "the new location already has a value",
  "test-failed": "a test of the patch fails",
  "not-convertible": "the value cannot be converted without a loss",
  "not-a-header":
    "the value cannot be a header: only text, numbers and booleans of one line and at most 65,536 characters can",
  "into-itself": "a value cannot be moved into itself",
  "invalid-recipe": "this version of Parkade refuses the recipe: a preview says why",
  "too-deep": "its payload is nested too deeply",
  "too-large": "the payload would be larger than the limit",
} as const;
export type MendFailure = keyof typeof MEND_FAILURES;

/** Why a mend of an event is not undone, beside the reasons of `RevisionRefusal`. */
export const SENT_SINCE = "sent-since";

/** Why an event is left alone by users who may not reveal. */
export const MASKED = "masked";

/** Why a changed event counts as breaking its schema that did not judge it. */
export const SCHEMA_TIMEOUT = "schema-timeout";

/** The reasons among the refused of a mend that are no failure of its recipe. */
export const MEND_REASONS = {
  unchanged: "not changed by the recipe",
  "breaks-schema": "would break their JSON Schema",
  [SCHEMA_TIMEOUT]: "not checked by their JSON Schema in time",
  [MASKED]: "with masked values, which needs the right “reveal”: ask an administrator for it",
  "event-queued": "QUEUED in a redrive",
  "already-redriven": "redriven and not bounced",
  "stale-revision": "revised meanwhile",
  "unknown-revision": "without the previous revision",
  [SENT_SINCE]: "sent since",
} as const;
