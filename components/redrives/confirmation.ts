/** Above this many events the count is typed: a slip of the hand must not start it. */
const TYPED_ABOVE = 1_000;

export type Confirmation =
  | { kind: "click" }
  /** `expected` is what must be typed, as shown; grouping marks do not matter. */
  | { kind: "typed"; expected: string };

/**
 * How a batch is confirmed. An unknown or not exact count may be larger than it reads, so it is always typed: the
 * number when there is one, a phrase when there is none.
 */
export function confirmationFor(count: number | null, kind: "exact" | "estimated" | "atLeast"): Confirmation {
  if (count === null) return { kind: "typed", expected: "all matching" };
  if (kind === "exact" && count <= TYPED_ABOVE) return { kind: "click" };
  return { kind: "typed", expected: count.toLocaleString("en-US") };
}

export function isConfirmed(confirmation: Confirmation, typed: string): boolean {
  if (confirmation.kind === "click") return true;
  return bare(typed) === bare(confirmation.expected);
}

/** Grouping marks and case are the reader's habit: `12,300`, `12 300`, `12.300` and `12300` are one number. */
function bare(text: string): string {
  return text.replaceAll(/[\s,.'’_]/g, "").toLowerCase();
}
