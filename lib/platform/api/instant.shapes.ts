import * as z from "zod/mini";
import { resolveInstant } from "@/lib/platform/instant.pure";

export const filterText = (lengthMax: number) =>
  z.string("must be text").check(
    z.minLength(1, "must not be empty: leave it out for no restriction"),
    z.maxLength(lengthMax, `at most ${lengthMax} characters`),
    z.refine((value) => !value.includes("\0"), "must not contain a NUL character"),
    z.refine((value) => value.isWellFormed(), "must not contain half a surrogate pair"),
  );

const DAY =
  "(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-?((0[1-9]|1[0-2])-?(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-?(29|30)|(0[13578]|1[02])-?31)";

const TIME =
  "[T ]([01][0-9]|2[0-3]):?[0-5][0-9](:?[0-5][0-9]([.,][0-9]{1,9})?)?( ?(Z|[+-](0[0-9]|1[0-4])(:?[0-5][0-9])?))?";

/** What `resolveInstant` reads, for clients; it also takes 29 February and 24:00. */
const INSTANT_PATTERN = `^(now|(now)?[+-]?([0-9]{1,9}[sm]|[0-9]{1,7}h|[0-9]{1,5}[dw])|[1-9][0-9]{8,18}([.,][0-9]{1,9})?|${DAY}(${TIME})?)$`;

export const instant = z
  .string("must be text")
  .check(
    z.refine(
      (value) => resolveInstant(value, 0) !== null,
      "must be ISO 8601, epoch seconds or milliseconds, or like -24h",
    ),
  )
  .register(z.globalRegistry, { pattern: INSTANT_PATTERN });
