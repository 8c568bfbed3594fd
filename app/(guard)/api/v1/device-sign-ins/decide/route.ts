import { handle } from "@/app/_server/handle";
import { browserOf } from "@/app/_server/sign-in/answers";
import { decideDeviceSignIn } from "@/lib/guard/device-sign-ins/device-sign-in";
import { deviceDecisionSchema } from "@/lib/guard/device-sign-ins/device-sign-ins.shapes";

export const POST = handle({
  id: "decideDeviceSignIn",
  summary: "Let the program that waits under a code act as your account, or reject it",
  body: deviceDecisionSchema,
  problems: ["unknown-device-sign-in", "unknown-account", "invalid-token", "proof-failed"],
  run: ({ deps, request, viewer, body }) =>
    decideDeviceSignIn(deps, body, { viewer, address: browserOf(request, deps).address }),
});
