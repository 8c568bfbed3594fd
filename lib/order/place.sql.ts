/** SQL: the place of a row in its aggregate; rows of one place go by `id`. The same order as `comparePlaces`. */
export const PLACE = "coalesce(version, 9223372036854775807)";
