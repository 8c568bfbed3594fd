import { handle } from "@/app/_server/handle";
import { once } from "@/app/_server/once";
import { confirmRequestSchema } from "@/lib/contract/confirm";
import { confirmEvents } from "@/lib/operations/confirm-events";

export const POST = handle({
  body: confirmRequestSchema,
  status: 202,
  run: (call) => once(call, () => confirmEvents(call.deps, call.body, call.viewer)),
});
