import { describeOperation } from "@/app/_server/operation";
import { healthSchema } from "@/lib/observe/health/health.shapes";

/** Does not check the database or Redis: a restart of this process would not repair them. */
export const GET = describeOperation(
  { id: "readHealth", summary: "Liveness: this process answers", answer: healthSchema, open: true },
  () => Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } }),
);
