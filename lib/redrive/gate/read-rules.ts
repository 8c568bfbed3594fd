import type { Settings } from "@/lib/guard/settings/settings.pure";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { type Control, type ControlFacts, type ControlIndex, indexControls } from "@/lib/order/controls/control.pure";
import { readControlsOver } from "@/lib/order/controls/controls.read";
import type { Queryable } from "@/lib/platform/database/db";

/** The rules in force at this moment, as the gate needs them. */
export type Rules = { controls: readonly Control[]; index: ControlIndex; settings: Settings };

/** The rules that can match one of these events. */
export async function readRulesOver(
  db: Queryable,
  events: readonly Pick<ControlFacts, "eventId" | "aggregateId" | "errorCode" | "source">[],
): Promise<Rules> {
  const controls = await readControlsOver(db, events);
  return { controls, index: indexControls(controls), settings: await readSettings(db) };
}
