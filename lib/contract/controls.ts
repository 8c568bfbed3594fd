import * as z from "zod/mini";
import { reasonSchema } from "@/lib/contract/selection";
import { DomainError } from "@/lib/core/problem";

const value = z.string().check(z.minLength(1), z.maxLength(512));

const source = z.optional(value);

/**
 * A control over an event, an aggregate, an error code or a source. A source beside one of the others narrows it to that
 * source; without one it holds over all of them. Without an aggregateType it holds for an aggregate of any type.
 */
export const controlScopeSchema = z.union(
  [
    z.strictObject({ eventId: value, source }),
    z.strictObject({ aggregateId: value, aggregateType: z.optional(value), source }),
    z.strictObject({ errorCode: value, source }),
    z.strictObject({ source: value }),
  ],
  "must name exactly one of eventId, aggregateId (with an aggregateType if you like), errorCode, and may name a source " +
    "beside it; or a source alone",
);

export const controlRequestSchema = z.strictObject({
  kind: z.enum(["blacklist", "whitelist", "cooldown"], "must be blacklist, whitelist or cooldown"),
  scope: controlScopeSchema,
  reason: reasonSchema,
  /** ISO 8601 with an offset; a cooldown must have one. */
  expiresAt: z.nullish(z.iso.datetime({ offset: true, error: "must be an ISO 8601 time with an offset" })),
});
export type ControlRequest = z.infer<typeof controlRequestSchema>;
export type ControlScopeName = "eventId" | "aggregateId" | "errorCode" | "source";

/** What a control holds for, as it is answered: as it was imposed. */
export type ControlScopeOut = Partial<Record<ControlScopeName | "aggregateType", string>>;

export type ControlOut = {
  id: string;
  kind: "blacklist" | "whitelist" | "cooldown";
  scope: ControlScopeOut;
  reason: string;
  origin: "person" | "automatic";
  createdBy: string;
  createdAt: string;
  expiresAt: string | null;
  liftedAt: string | null;
  liftedBy: string | null;
  liftReason: string | null;
  /** Parked events it catches now; null = unknown. */
  catches: number | null;
};
export type ControlList = { items: ControlOut[]; nextCursor: string | null };

/** DELETE /api/v1/controls/{id}. Without a body the reason is "lifted". */
export const liftRequestSchema = z.strictObject({ reason: z._default(reasonSchema, "lifted") });

/** `?state=`: in force or ended; absent = both. Throws DomainError `invalid-request`. */
export function controlStateFrom(value: string | undefined): "live" | "ended" | null {
  if (value === undefined || value === "live" || value === "ended") return value ?? null;
  throw new DomainError("invalid-request", "state: must be live or ended", {
    fields: [{ field: "state", detail: "must be live or ended" }],
  });
}
