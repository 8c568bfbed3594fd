import * as z from "zod/mini";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import { boundedText, idOut, named, nullableText, pageOut, timeOut } from "@/lib/platform/api/schemas.shapes";
import { TEXT_MAX } from "@/lib/platform/plain/storable.pure";
import { ruleText } from "@/lib/rules/rule.shapes";

const MARKER_KINDS = ["deploy", "incident", "note"] as const;

export const markerRequestSchema = named(
  "MarkerRequest",
  z.strictObject({
    kind: z._default(z.enum(MARKER_KINDS, `must be one of ${MARKER_KINDS.join(", ")}`), "deploy"),
    label: ruleText(200),
    /** Absent = it concerns every source. */
    source: z.optional(boundedText(TEXT_MAX.sourceName)),
    url: z.optional(
      z.url({ protocol: /^https?$/, error: "must be an address that begins with https:// or http://" }).check(
        z.maxLength(2_000, "must have at most 2,000 characters"),
        z.refine((text) => !/[\p{C}\p{Zl}\p{Zp}]/u.test(text), "must not contain invisible characters"),
        z.refine((text) => {
          const address = URL.parse(text);
          return address === null || address.username + address.password === "";
        }, "must not contain a user or password: every viewer can read it"),
      ),
    ),
    /** Absent = now. */
    at: z.optional(z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with an offset" })),
  }),
  { kind: "deploy", label: "orders 4.17.0", source: "orders", url: "https://ci.example.com/builds/4170" },
);
export type MarkerRequest = z.infer<typeof markerRequestSchema>;

export const markerSchema = named(
  "Marker",
  z.object({
    id: idOut,
    kind: z.enum(MARKER_KINDS),
    label: z.string(),
    source: nullableText,
    url: nullableText,
    at: timeOut,
    createdBy: z.string(),
    createdAt: timeOut,
  }),
);
export type MarkerOut = z.infer<typeof markerSchema>;
export const markerListSchema = pageOut(markerSchema);
export const markersQuery = idPageQuery({});
