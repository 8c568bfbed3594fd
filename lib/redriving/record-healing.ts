import type { Deps } from "@/lib/redriving/deps";
import type { HealingStep } from "@/lib/retry/healing/healing";
import { appendAudit } from "@/lib/store/write/audit";

/** Audits a self-healing step: the engine lowered its pressure on a target, or went back towards normal. */
export async function recordHealing(
  deps: Pick<Deps, "db" | "clock">,
  target: string,
  step: HealingStep,
): Promise<void> {
  await deps.db.transaction((tx) =>
    appendAudit(tx, {
      actor: "worker",
      action: "target.healing",
      subjectKind: "target",
      subjectId: target,
      before: null,
      after: step,
      count: 1,
      atMs: deps.clock.wallMs(),
    }),
  );
}
