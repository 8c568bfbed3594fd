import { handle } from "@/app/_server/handle";
import { once } from "@/app/_server/once";
import { bulkChangeSchema } from "@/lib/contract/selection";
import { ignoreEvents } from "@/lib/operations/ignore-events";

export const POST = handle({
  body: bulkChangeSchema,
  status: 202,
  run: (call) => once(call, () => ignoreEvents(call.deps, call.body, call.viewer)),
});
