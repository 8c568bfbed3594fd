import { handle } from "@/app/_server/handle";
import { takeDeviceSignIn } from "@/lib/guard/device-sign-ins/device-sign-in";
import { deviceAnswerSchema, deviceTakeSchema } from "@/lib/guard/device-sign-ins/device-sign-ins.shapes";

export const POST = handle({
  id: "takeDeviceSignIn",
  summary: "Whether the person has confirmed; then the token, only once",
  anybody: true,
  body: deviceTakeSchema,
  answer: deviceAnswerSchema,
  problems: ["unknown-device-sign-in"],
  run: ({ deps, body }) => takeDeviceSignIn(deps, body.deviceSecret),
});
