import { handle } from "@/app/_server/handle";
import { idParam } from "@/lib/contract/id-page";
import { readRedriveRate } from "@/lib/store/read/redrives";

export const GET = handle({
  run: ({ deps, viewer, params, nowMs }) =>
    readRedriveRate(deps.db, viewer, idParam(params.id, "unknown-redrive"), nowMs),
});
