import * as z from "zod/mini";

const TELL_MAX = 20;

/** Names of channels that are notified when an operation ends or stalls. */
export const tellSchema = z
  .array(
    z.string("must be the name of a channel").check(z.minLength(1), z.maxLength(200)),
    "must be a list of channels",
  )
  .check(z.maxLength(TELL_MAX, `names at most ${TELL_MAX} channels`));
