import { handle } from "@/app/_server/handle";
import { once } from "@/app/_server/once";
import { releaseSchema } from "@/lib/contract/selection";
import { releaseEvents } from "@/lib/operations/ignore-events";

export const POST = handle({
  body: releaseSchema,
  status: 202,
  run: (call) => once(call, () => releaseEvents(call.deps, call.body, call.viewer)),
});
