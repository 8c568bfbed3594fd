import type { Action } from "@/lib/guard/viewer/viewer.pure";
import type { BulkKind } from "@/lib/states/bulk-operation.pure";

/** What a viewer must be allowed. */
export const BULK_ACTION: Record<BulkKind, Action> = {
  ignore: "ignore",
  release: "release",
  confirm: "confirm",
  mend: "edit",
  "undo-mend": "edit",
  remove: "remove",
  expire: "remove",
};
