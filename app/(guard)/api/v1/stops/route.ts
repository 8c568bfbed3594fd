import { handle } from "@/app/_server/handle";
import { listStops } from "@/lib/guard/stops/stops.read";
import { stopListSchema } from "@/lib/guard/stops/stops.shapes";

export const GET = handle({
  id: "listStops",
  summary: "The stops in force: of everything, or of the sends to one target",
  answer: stopListSchema,
  coalesce: true,
  run: async ({ deps, viewer }) => ({ items: await listStops(deps.db, viewer) }),
});
