import { handle } from "@/app/_server/handle";
import { browserOf } from "@/app/_server/sign-in/answers";
import { startDeviceSignIn } from "@/lib/guard/device-sign-ins/device-sign-in";
import { deviceStartedSchema, deviceStartSchema } from "@/lib/guard/device-sign-ins/device-sign-ins.shapes";

export const POST = handle({
  id: "startDeviceSignIn",
  summary: "Ask to act for a person, who confirms it in the console",
  anybody: true,
  body: deviceStartSchema,
  status: 201,
  answer: deviceStartedSchema,
  run: ({ deps, request, body: { name } }) =>
    startDeviceSignIn(deps, { name, address: browserOf(request, deps).address }),
});
