import { handle } from "@/app/_server/handle";
import { trialSchema, tryRequestSchema } from "@/lib/intake/admission/admission.shapes";
import { tryAdmissionRule } from "@/lib/intake/admission/try-admission-rule";

export const POST = handle({
  id: "tryAdmissionRule",
  summary: "What an admission rule would do to the newest events; changes nothing",
  body: tryRequestSchema,
  answer: trialSchema,
  problems: ["read-timeout"],
  run: ({ deps, body, viewer }) => tryAdmissionRule(deps, body, viewer),
});
