import { handle } from "@/app/_server/handle";
import { statusOf } from "@/app/_server/status";

export const GET = handle({ run: ({ deps, viewer, nowMs }) => statusOf(deps, viewer, nowMs) });
