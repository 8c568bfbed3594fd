import type { MendFailure } from "@/lib/repair/mends/mending.pure";

/** Why a recipe fails for one event. `detail` names the place. */
export class MendFault extends Error {
  readonly code: MendFailure;
  readonly detail: string | null;

  constructor(code: MendFailure, detail: string | null = null) {
    super(code);
    this.code = code;
    this.detail = detail;
  }
}
