import { handle } from "@/app/_server/handle";
import { idPageFrom, namedParams } from "@/lib/contract/id-page";
import { targetAddress } from "@/lib/contract/target-address";
import { listTargets } from "@/lib/store/read/target-list";

export const GET = handle({
  query: (params) => ({ ...idPageFrom(params), ...namedParams(params, []) }),
  run: ({ deps }) => listTargets(deps.db, targetAddress),
});
