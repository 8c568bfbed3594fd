import { handle } from "@/app/_server/handle";
import { idParam } from "@/lib/contract/id-page";
import { readRedriveRate } from "@/lib/store/read/redrives";

export const GET = handle({
  run: ({ deps, params, nowMs }) => readRedriveRate(deps.db, idParam(params.id, "unknown-redrive"), nowMs),
});
