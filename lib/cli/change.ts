import { type Call, countText, printAnswer, requestKey, selectOf } from "@/lib/cli/call";
import { EXIT } from "@/lib/cli/command";
import { confirmed } from "@/lib/cli/confirm";
import { followOperation } from "@/lib/cli/follow";
import { factsText } from "@/lib/cli/table";
import type { BulkOperationOut } from "@/lib/events/bulk/bulk-operations.shapes";
import type { BulkAnswer, CountOut, EventCounts } from "@/lib/events/events.shapes";
import { formatNumber } from "@/lib/platform/plain/format.pure";
import { pinSelection } from "@/lib/selection/pin-selection.shapes";

const ASKED = { ignore: "Ignore", release: "Release", confirm: "Confirm" } as const;

/** `ignore`, `release` and `confirm`. */
export async function changeEvents(call: Call, kind: keyof typeof ASKED): Promise<number> {
  const { line, api, terminal } = call;
  const select = await selectOf(call);
  const counted = line.flag("yes") ? null : await size(call, select);
  if (counted !== null && !(await confirmed(call, ASKED[kind], counted.value))) return EXIT.refused;
  const body = {
    select: pinSelection(select, counted?.asOf ?? null),
    reason: line.text("reason"),
    ...(kind === "release" ? { keepLimits: line.flag("keep-limits") } : {}),
  };
  const key = requestKey(call);
  const answer = await api.change<BulkAnswer>(`api/v1/events/${kind}`, { method: "POST", body, key });
  if (answer.id !== null && answer.state === "RUNNING") {
    terminal.say(`Bulk operation ${answer.id}: a worker changes the events.`);
    if (!line.flag("detach")) return followOperation(call, answer.id);
    return printAnswer(call, answer, () => `${answer.id}\n`);
  }
  const refused = Object.values(answer.refused).reduce((sum, count) => sum + count, 0);
  await printAnswer(call, answer, () =>
    factsText([
      ["changed", formatNumber(answer.changed)],
      ["refused", countText(refused, answer.refused)],
      ["being sent", answer.underWay || null],
    ]),
  );
  return refused === 0 ? EXIT.done : EXIT.partly;
}

type Size = Pick<CountOut, "value"> & Partial<Pick<CountOut, "asOf">>;

/** How many events are named; null = unknown. */
async function size({ line, api }: Call, select: Awaited<ReturnType<typeof selectOf>>): Promise<Size> {
  if ("ids" in select) return { value: select.ids.length };
  if ("operation" in select) {
    return { value: (await api.get<BulkOperationOut>(`api/v1/operations/${select.operation}`)).changed };
  }
  return (await api.get<EventCounts>("api/v1/events/count", line.filter)).total;
}
