import * as z from "zod/mini";
import { named } from "@/lib/platform/api/schemas.shapes";

export const healthSchema = z.object({ status: z.literal("ok") });

const check = z.object({ ok: z.boolean(), detail: z.string() });

export const readinessSchema = named(
  "Readiness",
  z.object({
    status: z.enum(["ready", "not-ready"]),
    checks: z.object({
      store: check,
      queue: check,
      migrations: check,
      worker: check,
      intake: check,
      archive: check,
      alerts: check,
    }),
  }),
);

export const documentSchema = z.record(z.string(), z.unknown());
