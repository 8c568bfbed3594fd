import { describeOperation } from "@/app/_server/operation";
import { healthSchema } from "@/lib/contract/health";

/** Says nothing of what the process depends on: restarting it would not mend that. */
export const GET = describeOperation(
  { id: "readHealth", summary: "Liveness: this process answers", answer: healthSchema, open: true },
  () => Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } }),
);
