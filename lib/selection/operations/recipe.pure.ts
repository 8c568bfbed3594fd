/** Steps of a form, or operations of a patch: each may take as long as the payload is large. */
export const RECIPE_STEPS_MAX = 100;

export const JSON_TYPES = ["string", "number", "boolean", "null", "object", "array"] as const;

export type JsonType = (typeof JSON_TYPES)[number];
