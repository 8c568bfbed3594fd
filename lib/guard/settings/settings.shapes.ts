import * as z from "zod/mini";
import { named, reasonSchema } from "@/lib/platform/api/schemas.shapes";

/** Settings of one request at most: the answer lists every unknown name. */
const SETTINGS_MAX = 100;

/** PATCH /api/v1/settings: names as in GET. */
export const settingsChangeSchema = named(
  "SettingsChange",
  z.strictObject({
    settings: z._default(
      z
        .record(z.string(), z.number("must be a number"))
        .check(z.refine((settings) => Object.keys(settings).length <= SETTINGS_MAX, `at most ${SETTINGS_MAX} settings`))
        .register(z.globalRegistry, { maxProperties: SETTINGS_MAX }),
      {},
    ),
    /** Told of each confirmed event by POST: an address, or a reference to one (`env:NAME`); null = nobody. */
    confirmedUrl: z.optional(
      z.nullable(z.string("must be an address or null").check(z.maxLength(2_048, "at most 2,048 characters"))),
    ),
    reason: reasonSchema,
  }),
  { settings: { redriveLimit: 5 }, reason: "a long outage" },
);

export type SettingsChange = z.infer<typeof settingsChangeSchema>;

const settingSchema = named(
  "Setting",
  z.object({
    name: z.string(),
    value: z.number(),
    initial: z.number(),
    min: z.number(),
    max: z.number(),
    text: z.string(),
  }),
);

export type SettingOut = z.infer<typeof settingSchema>;

export const settingListSchema = z.object({ items: z.array(settingSchema), confirmedUrl: z.nullable(z.string()) });
