import * as z from "zod/mini";
import { AGAINST_MS, DIFFERENCES } from "@/lib/observe/stats/difference.pure";
import { queryOf, thenRead } from "@/lib/platform/api/query.shapes";
import { countOut, described, hintsOut, named, nullableNumber, timeOut } from "@/lib/platform/api/schemas.shapes";

const AGAINST = Object.keys(AGAINST_MS) as [keyof typeof AGAINST_MS];
const SOURCE_MAX = 200;

export const differencesQuery = thenRead(
  queryOf({
    against: described(
      z.optional(z.enum(AGAINST, `must be one of ${AGAINST.join(", ")}`)),
      "Compares the last hour with the hour before, or a day or a week with the one before; default: day",
    ),
    source: described(
      z.optional(z.string().check(z.minLength(1), z.maxLength(SOURCE_MAX))),
      "Only arrivals of this source",
    ),
  }),
  [],
  ({ against, source }) => ({ against: against ?? ("day" as const), source }),
);

/** GET /api/v1/stats/differences: groups that differ from a window ago. */
export const differencesSchema = named(
  "Differences",
  z.object({
    asOf: timeOut,
    hints: hintsOut,
    /** The last window begins here, and ends at `asOf`; the window before it is as long. */
    from: timeOut,
    items: z.array(
      z.object({
        verdict: z.enum(DIFFERENCES),
        fingerprint: z.string(),
        errorCode: z.string(),
        pattern: z.string(),
        sources: z.array(z.string()),
        /** Arrivals in the last window, and in the one before. */
        now: countOut,
        before: countOut,
        /** now / before; null when nothing arrived before. */
        factor: nullableNumber,
        /** The median of the same hours on the days before; null when fewer than three are known. */
        usual: nullableNumber,
      }),
    ),
    /** Differences that are not listed. */
    more: countOut,
  }),
);
export type Differences = z.infer<typeof differencesSchema>;
