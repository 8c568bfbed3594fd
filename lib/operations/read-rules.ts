import type { Control } from "@/lib/core/control";
import { type ControlIndex, indexControls } from "@/lib/core/control";
import type { Settings } from "@/lib/core/settings";
import type { Queryable } from "@/lib/store/db";
import { readControlsInForce } from "@/lib/store/read/controls";
import { readSettings } from "@/lib/store/read/settings";

/** The rules in force at this moment, as the gate needs them. */
export type Rules = { controls: readonly Control[]; index: ControlIndex; settings: Settings };

export async function readRules(db: Queryable): Promise<Rules> {
  const controls = await readControlsInForce(db);
  const settings = await readSettings(db);
  return { controls, index: indexControls(controls), settings };
}
