import type { Earlier } from "@/lib/order/order-gate.pure";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { EarlierOut } from "@/lib/redrive/preview/redrive-preview.shapes";

type EarlierOption = { choice: Earlier; label: string; detail: string };

/** `7 of these events are behind 6 earlier versions that stay parked, in 3 aggregates.` */
export function earlierSentence(counts: EarlierOut): string {
  const { heldEvents, heldAggregates, earlierEvents, takenAlong, bounded } = counts;
  const least = bounded ? "at least " : "";
  const selected =
    heldEvents === 1 ? `${least}1 of the events is` : `${least}${formatNumber(heldEvents)} of the events are`;
  const versions = plural(earlierEvents, "earlier version");
  const parked = takenAlong === 0 ? "cannot be sent now" : "the selection leaves parked";
  return `${capital(selected)} behind ${versions} that ${parked}, in ${plural(heldAggregates, "aggregate")}.`;
}

/**
 * The choices about the earlier versions, the one that was pressed first. `sends` false: those of a dry run. `eligible`: how many go without
 * them; null = not known.
 */
export function earlierOptions(
  { heldEvents, earlierEvents, takenAlong }: EarlierOut,
  sends: boolean,
  eligible: number | null,
): EarlierOption[] {
  const versions = plural(earlierEvents, "earlier version");
  const include: EarlierOption[] = [
    {
      choice: "include",
      label: `Include the ${plural(takenAlong, "earlier version")}, in order`,
      detail: "Each is checked like the others; if one is refused, it holds the later versions.",
    },
  ];
  return [
    {
      choice: "hold",
      label: sends
        ? `Send only ${eligible ? `the ${formatNumber(eligible)} that can be sent now` : "what can be sent now"}`
        : "Check them as selected",
      detail: `${plural(heldEvents, "event")} ${heldEvents === 1 ? "stays" : "stay"} parked behind ${earlierEvents === 1 ? "it" : "them"}.`,
    },
    // Versions that are selected themselves and refused cannot be taken along.
    ...(takenAlong > 0 ? include : []),
    {
      choice: "pass",
      label: sends ? "Send anyway, out of order" : "Check them as if sent out of order",
      detail: sends
        ? `This strands ${versions}: once a newer version is processed, ${earlierEvents === 1 ? "it" : "they"} can no longer be sent.`
        : `The order is not checked against ${versions}.`,
    },
  ];
}

/** `Mend the 3 heads first…`: the events that hold the aggregates, as many as one request names. */
export function mendHeadsWords({ headIds, heldAggregates }: Pick<EarlierOut, "headIds" | "heldAggregates">): string {
  const all = headIds.length >= heldAggregates;
  if (all)
    return `Mend the ${headIds.length === 1 ? "earliest version" : plural(headIds.length, "earliest version")} first…`;
  return `Mend ${formatNumber(headIds.length)} of the earliest versions first…`;
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
