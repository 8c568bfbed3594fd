import { handle } from "@/app/_server/handle";
import { idParam } from "@/lib/contract/id-page";
import { readRedriveCauses } from "@/lib/store/read/redrives";

export const GET = handle({
  run: ({ deps, viewer, params }) => readRedriveCauses(deps.db, viewer, idParam(params.id, "unknown-redrive")),
});
