import { handle } from "@/app/_server/handle";
import { openapiDocument } from "@/app/_server/openapi/openapi";
import { documentSchema } from "@/lib/observe/health/health.shapes";

export const GET = handle({
  id: "readApi",
  summary: "This document",
  answer: documentSchema,
  run: async () => openapiDocument((await import("@/app/routes")).ROUTES),
});
