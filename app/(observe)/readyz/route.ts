import { deps } from "@/app/_server/deps";
import { describeOperation } from "@/app/_server/operation";
import { readiness } from "@/app/_server/readiness";
import { readinessSchema } from "@/lib/observe/health/health.shapes";

export const GET = describeOperation(
  {
    id: "readReadiness",
    summary:
      "Readiness: 200 when store, queue, migrations and a worker are fit for work, else 503 with each that is not. `intake` says whether there is room for events, and does not count",
    answer: readinessSchema,
    otherAnswers: { 503: readinessSchema },
    open: true,
  },
  async () => {
    const { ready, checks } = await readiness(deps());
    const headers = { "cache-control": "no-store" };
    return Response.json({ status: ready ? "ready" : "not-ready", checks }, { status: ready ? 200 : 503, headers });
  },
);
