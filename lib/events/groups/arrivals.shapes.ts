import * as z from "zod/mini";
import { VERDICTS } from "@/lib/events/groups/group-verdict.pure";
import { countOut, described, nullableNumber } from "@/lib/platform/api/schemas.shapes";

/** What arrived in the window, against what usually arrives in the same hours. */
export const arrivalsShape = {
  /** parked + bounced + unstored. */
  count: countOut,
  /** The median of the same hours on the days before, seven at most; null when fewer than three are known. */
  usual: nullableNumber,
  /** How far a day usually lies from it, events: 1.4826 times the median distance, and at least its root. */
  spread: nullableNumber,
  /** count / usual; null when `usual` is null or 0. */
  factor: nullableNumber,
  /** `rising`: above usual by three spreads and half of it; `falling`: as far below. */
  trend: z.enum(["rising", "usual", "falling", "unknown"]),
};

/** What its arrivals say of a group: see `verdictOf`. */
export const verdictOut = described(
  z.enum(VERDICTS),
  "new: never before the window; back: after a week without any; rising, falling: more or less than usual; steady: as usual, or too little is known",
);

const arrivalsSchema = z.object(arrivalsShape);

export type Arrivals = z.infer<typeof arrivalsSchema>;
