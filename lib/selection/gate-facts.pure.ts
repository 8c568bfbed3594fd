import type { ControlFacts } from "@/lib/order/controls/control.pure";
import type { AdmissionMark } from "@/lib/states/admission-mark.pure";
import type { EventStatus } from "@/lib/states/event-state.pure";

/** The input of the gate. Times are epoch milliseconds of the wall clock. */
export type GateFacts = ControlFacts & {
  status: EventStatus;
  cooldownUntilMs: number | null;
  redrives: number;
  /** What the admission at intake marked the event with. */
  admission: AdmissionMark | null;
};
