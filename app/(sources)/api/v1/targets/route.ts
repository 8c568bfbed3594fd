import { handle } from "@/app/_server/handle";
import { addressOf } from "@/app/_server/sources/target-address";
import { idPageQuery } from "@/lib/platform/api/id-page.shapes";
import { targetListSchema } from "@/lib/sources/sources.shapes";
import { listTargets } from "@/lib/sources/targets/target-list.read";

export const GET = handle({
  id: "listTargets",
  summary: "Targets with the live state of their engines, all on one page",
  query: idPageQuery({}),
  answer: targetListSchema,
  coalesce: true,
  run: ({ deps, viewer }) => listTargets(deps.db, viewer, addressOf),
});
