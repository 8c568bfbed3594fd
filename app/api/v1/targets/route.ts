import { handle } from "@/app/_server/handle";
import { addressOf } from "@/app/_server/target-address";
import { idPageFrom, namedParams } from "@/lib/contract/id-page";
import { listTargets } from "@/lib/store/read/target-list";

export const GET = handle({
  query: (params) => ({ ...idPageFrom(params), ...namedParams(params, []) }),
  run: ({ deps, viewer }) => listTargets(deps.db, viewer, addressOf),
});
