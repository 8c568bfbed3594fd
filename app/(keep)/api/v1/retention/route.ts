import { handle } from "@/app/_server/handle";
import { changeRetention } from "@/lib/keep/retention/change-retention";
import { retentionChangeSchema, retentionSchema } from "@/lib/keep/retention/retention.shapes";
import { showRetention } from "@/lib/keep/retention/show-retention.read";

export const GET = handle({
  id: "getRetention",
  summary: "How long events are kept",
  answer: retentionSchema,
  run: ({ deps, viewer }) => showRetention(deps.db, viewer, deps.archive?.place ?? null),
});

export const PUT = handle({
  id: "changeRetention",
  summary: "Change how long events are kept",
  body: retentionChangeSchema,
  answer: retentionSchema,
  problems: ["invalid-config", "stale-settings"],
  run: async ({ deps, body, viewer }) => {
    await changeRetention(deps, body, viewer);
    return showRetention(deps.db, viewer, deps.archive?.place ?? null);
  },
});
