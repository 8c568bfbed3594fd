import type { Settings } from "@/lib/guard/settings/settings.pure";
import { readSettings } from "@/lib/guard/settings/settings.read";
import { type Control, type ControlFacts, type ControlIndex, indexControls } from "@/lib/order/controls/control.pure";
import { readControlsOfPeople, readControlsOver } from "@/lib/order/controls/controls.read";
import type { Queryable } from "@/lib/platform/database/db";

/** The rules in force at this moment, as the gate needs them. */
export type Rules = { controls: readonly Control[]; index: ControlIndex; settings: Settings };

/** All rules but Parkade's blacklists of aggregates: for a preview, which does not hold the events it counts. */
export async function readRules(db: Queryable): Promise<Rules> {
  return rulesOf(db, await readControlsOfPeople(db));
}

/** The rules that can match one of these events. */
export async function readRulesOver(
  db: Queryable,
  events: readonly Pick<ControlFacts, "eventId" | "aggregateId" | "errorCode" | "source">[],
): Promise<Rules> {
  return rulesOf(db, await readControlsOver(db, events));
}

async function rulesOf(db: Queryable, controls: readonly Control[]): Promise<Rules> {
  const settings = await readSettings(db);
  return { controls, index: indexControls(controls), settings };
}
