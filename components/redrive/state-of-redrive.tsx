import { RedriveBadge } from "@/components/ui/state-badge";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { isFinal } from "@/lib/states/redrive-state.pure";
import { went } from "./progress-segments";

/** The state of a redrive as shown: WAITING when an approval, a start time or a breaker holds it. */
export function StateOfRedrive({ redrive }: { redrive: RedriveOut }) {
  const waits = !isFinal(redrive.state) && redrive.waitsFor.length > 0;
  return <RedriveBadge state={waits ? "WAITING" : redrive.state} allWent={went(redrive) === redrive.total} />;
}
