import type { EarlierOut } from "@/lib/contract/redrive-preview";
import { formatNumber, plural } from "@/lib/core/format";
import type { Earlier } from "@/lib/core/order-gate";

export type EarlierOption = { choice: Earlier; label: string; detail: string };

/** `7 of these events are behind 6 earlier versions that stay parked, in 3 aggregates.` */
export function earlierSentence({ heldEvents, heldAggregates, earlierEvents, bounded }: EarlierOut): string {
  const least = bounded ? "at least " : "";
  const selected =
    heldEvents === 1 ? `${least}1 of the events is` : `${least}${formatNumber(heldEvents)} of the events are`;
  const versions = plural(earlierEvents, "earlier version");
  return `${capital(selected)} behind ${versions} that the selection leaves parked, in ${plural(heldAggregates, "aggregate")}.`;
}

/** The choices about the earlier versions, the recommended one first. */
export function earlierOptions({ heldEvents, earlierEvents }: EarlierOut): EarlierOption[] {
  const versions = plural(earlierEvents, "earlier version");
  return [
    {
      choice: "include",
      label: `Take the ${versions} along, in order`,
      detail: "Each is checked like the others; one that is refused holds what is behind it.",
    },
    {
      choice: "hold",
      label: "Send only what may go now",
      detail: `${plural(heldEvents, "event")} ${heldEvents === 1 ? "stays" : "stay"} parked behind ${earlierEvents === 1 ? "it" : "them"}.`,
    },
    {
      choice: "pass",
      label: "Send all the same, ahead of them",
      detail: `It strands ${versions}: once a newer one is processed, ${earlierEvents === 1 ? "it" : "they"} can no longer be sent.`,
    },
  ];
}

/** The text to type before later versions are sent ahead of earlier ones. */
export function strandWords({ earlierEvents }: Pick<EarlierOut, "earlierEvents">): string {
  return `strand ${earlierEvents}`;
}

/** `order-1320 v7 is behind v1, v2, v3 and more`. */
export function sampleSentence({ aggregateId, version, behind }: EarlierOut["samples"][number]): string {
  const shown = behind
    .slice(0, BEHIND_SHOWN)
    .map((each) => `v${each.version}${each.status === "IGNORED" ? " (ignored)" : ""}`);
  return `${aggregateId} v${version} is behind ${shown.join(", ")}${behind.length > BEHIND_SHOWN ? " and more" : ""}`;
}

const BEHIND_SHOWN = 4;

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}
