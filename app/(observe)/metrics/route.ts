import { handle } from "@/app/_server/handle";
import { readMetrics } from "@/lib/observe/metrics/metrics.read";
import { prometheusText } from "@/lib/platform/plain/prometheus.pure";

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export const GET = handle({
  id: "readMetrics",
  summary: "Metrics as Prometheus text",
  answer: { media: ["text/plain"] },
  run: async ({ deps, viewer, nowMs }) => {
    const unsigned = deps.refusedSignatures.metric(viewer);
    return new Response(prometheusText([...(await readMetrics(deps.db, viewer, nowMs)), unsigned]), {
      headers: { "content-type": CONTENT_TYPE },
    });
  },
});
