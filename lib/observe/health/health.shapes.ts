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
  {
    status: "not-ready",
    checks: {
      store: { ok: true, detail: "PostgreSQL takes writes" },
      queue: { ok: true, detail: "the postgres queue answers" },
      migrations: { ok: true, detail: "31 applied" },
      worker: { ok: false, detail: "no worker is alive: nothing is sent or consumed" },
      intake: { ok: true, detail: "events are taken in" },
      archive: { ok: true, detail: "no removal stands still" },
      alerts: { ok: true, detail: "all alert rules are evaluated" },
    },
  },
);

export const documentSchema = z.record(z.string(), z.unknown());
