import { handle } from "@/app/_server/handle";
import { probeDeps } from "@/app/_server/probe";
import { byName } from "@/lib/contract/query";
import { probeSchema } from "@/lib/contract/sources";
import { probeStoredSource } from "@/lib/operations/probe-source";

export const POST = handle({
  id: "probeSource",
  summary: "Can a source be reached, and what would be read?",
  params: byName("unknown-source"),
  answer: probeSchema,
  problems: ["invalid-config"],
  run: async ({ deps, params, viewer }) => probeStoredSource(await probeDeps(deps), params.name, viewer),
});
