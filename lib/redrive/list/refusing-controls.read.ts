import { sourceScope, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { AppliedControl } from "@/lib/order/controls/controls.shapes";
import type { ControlledEvent } from "@/lib/order/controls/deciding-controls.read";
import { readDecidingControls } from "@/lib/order/controls/deciding-controls.read";
import type { Queryable } from "@/lib/platform/database/db";
import type { RedriveItemList } from "@/lib/redrive/list/redrive-items.shapes";
import { EVENT_COLUMNS } from "@/lib/selection/event-rows.read";

/** An event cools down by itself, too: then no control refuses it. */
const BY_CONTROL: readonly (string | null)[] = ["blacklisted", "cooling"];

/** Whether a control may be the reason of a refusal. */
export function isByControl(refusal: string | null): boolean {
  return BY_CONTROL.includes(refusal);
}

/** The control that keeps each of these events from being sent now, by the id of the event. */
export async function readRefusingControls(
  db: Queryable,
  viewer: Viewer,
  ids: readonly string[],
  nowMs: number,
): Promise<Map<string, AppliedControl>> {
  if (ids.length === 0) return new Map();
  const events = await db.query<ControlledEvent>(
    `select ${EVENT_COLUMNS} from dlq_event_rows e join sources s on s.id = e.source_id
      where e.id = any($1::uuid[]) and ($2::text[] is null or s.name = any($2))`,
    [ids, sourceScope(viewer)],
    { name: "events-refused-by-control", isoTimes: true },
  );
  const deciding = await readDecidingControls(db, events, nowMs);
  return new Map([...deciding].filter(([, { kind }]) => kind !== "whitelist"));
}

/** The items with the control that refuses each of them now; one that was lifted meanwhile is not named. */
export async function withRefusingControls(
  db: Queryable,
  viewer: Viewer,
  list: RedriveItemList,
  nowMs: number,
): Promise<RedriveItemList> {
  const refused = list.items.filter(({ state, result }) => state === "refused" && isByControl(result));
  const controls = await readRefusingControls(
    db,
    viewer,
    refused.map(({ id }) => id),
    nowMs,
  );
  if (controls.size === 0) return list;
  const items = list.items.map((item) => {
    const control = refused.includes(item) ? controls.get(item.id) : undefined;
    return control === undefined ? item : { ...item, control };
  });
  return { ...list, items };
}
