import { handle } from "@/app/_server/handle";
import { browserOf } from "@/app/_server/sign-in/answers";
import { lookAtDeviceSignIn } from "@/lib/guard/device-sign-ins/device-sign-in";
import { deviceLookSchema, deviceShownSchema } from "@/lib/guard/device-sign-ins/device-sign-ins.shapes";

export const POST = handle({
  id: "lookAtDeviceSignIn",
  summary: "Which program waits under a code",
  body: deviceLookSchema,
  answer: deviceShownSchema,
  problems: ["unknown-device-sign-in"],
  run: ({ deps, request, viewer, body: { code } }) =>
    lookAtDeviceSignIn(deps, code, { viewer, address: browserOf(request, deps).address }),
});
