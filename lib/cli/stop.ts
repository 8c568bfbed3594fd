import { type Call, given, printAnswer } from "@/lib/cli/call";
import type { ImposedStop, StopOut } from "@/lib/guard/stops/stops.shapes";
import { plural } from "@/lib/platform/plain/format.pure";

const STOPS = "api/v1/stops";

/** `stop`: of everything, or of `--target`. */
export async function stop(call: Call): Promise<number> {
  const { line, api } = call;
  const reason = line.text("reason");
  const stopped = await api.change<ImposedStop>(pathOf(call), { method: "PUT", body: { reason } });
  const { underWay } = stopped;
  const sends =
    underWay === null
      ? ", sends under way not counted"
      : underWay > 0
        ? `, ${plural(underWay, "send")} still under way`
        : "";
  return printAnswer(call, stopped, () => `${scopeText(stopped.target)} stopped${sends}\n`);
}

/** `go`: lifts the stop of everything, or of `--target`, and says what stays stopped. */
export async function go(call: Call): Promise<number> {
  const { line, api } = call;
  const body = given(call, "reason");
  const { lifted } = await api.change<{ lifted: boolean }>(pathOf(call), { method: "DELETE", body });
  const { items } = await api.get<{ items: StopOut[] }>(STOPS);
  const left = items.map((item) => `still stopped: ${scopeText(item.target)}, by ${item.createdBy}: ${item.reason}\n`);
  const what = scopeText(line.text("target"));
  return printAnswer(call, { lifted, items }, () => `${what} ${lifted ? "resumed" : "not stopped"}\n${left.join("")}`);
}

function pathOf({ line }: Call): string {
  const target = line.text("target");
  return target === null ? `${STOPS}/everything` : `${STOPS}/targets/${encodeURIComponent(target)}`;
}

function scopeText(target: string | null): string {
  return target === null ? "all sends" : `sends to ${target}`;
}
