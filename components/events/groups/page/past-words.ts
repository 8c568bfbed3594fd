import type { GroupDetail } from "@/lib/events/groups/groups.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import { isFinal, type RedriveState } from "@/lib/states/redrive-state.pure";

type Past = NonNullable<GroupDetail["past"]>[number];

const WHAT: Record<Exclude<Past["what"], "redrive">, string> = {
  ignored: "ignored",
  released: "released",
  mended: "mended",
  edited: "edited",
  confirmed: "confirmed",
};

/** `50 events ignored by ada`; for a redrive, the numbers requested and sent. */
export function pastWords({ what, events, by, delivered, failed, state }: Omit<Past, "at" | "reason">): string {
  if (what !== "redrive") return `${plural(events, "event")} ${WHAT[what]} by ${by}`;
  const redrive = `Redrive of ${plural(events, "event")} by ${by}`;
  const [sent, failures] = [delivered ?? 0, failed ?? 0];
  if (state === "CANCELLED" && sent + failures === 0) return `${redrive}: cancelled, nothing was sent`;
  const over = state !== null && isFinal(state as RedriveState);
  const left = events - sent - failures;
  return [
    `${redrive}: ${formatNumber(sent)} sent${over ? "" : " so far"}`,
    ...(failures > 0 ? [`${formatNumber(failures)} failed`] : []),
    ...(over && left > 0 ? [`${formatNumber(left)} not sent`] : []),
  ].join(", ");
}
