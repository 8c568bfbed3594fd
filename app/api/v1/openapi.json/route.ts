import { handle } from "@/app/_server/handle";
import { openapiDocument } from "@/app/_server/openapi";

export const GET = handle({ run: async () => openapiDocument() });
