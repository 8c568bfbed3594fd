import { handle } from "@/app/_server/handle";
import { stopListSchema } from "@/lib/contract/stops";
import { listStops } from "@/lib/store/read/stops";

export const GET = handle({
  id: "listStops",
  summary: "The stops in force: of everything, or of the sends to one target",
  answer: stopListSchema,
  coalesce: true,
  run: async ({ deps, viewer }) => ({ items: await listStops(deps.db, viewer) }),
});
