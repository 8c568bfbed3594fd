"use client";

import { ActionButton } from "@/components/ui/action-button";
import { countText } from "@/components/ui/count-text";
import type { MenuEntry } from "@/components/ui/menu";
import { MenuButton } from "@/components/ui/popup-button";
import type { EventCounts, ListedEvent } from "@/lib/events/events.shapes";
import { formatNumber, plural } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { holdsNone, mayHoldIgnored } from "./bulk-action";
import { SelectionBar } from "./selection-bar";
import type { ListActions } from "./use-list-actions";
import type { useListSelection } from "./use-list-selection";

/** The actions on the selection. The bar appears with the first selected event and does not move. */
export function BulkBar({
  selection: { picked, selectAll, clear },
  actions: { setAction, redriveSelected, mend, sending },
  filter,
  events,
  matching: total,
  counted,
}: {
  selection: ReturnType<typeof useListSelection>;
  actions: ListActions;
  filter: EventFilter;
  events: readonly ListedEvent[];
  /** How many match the list; undefined = unknown. */
  matching: EventCounts["total"] | undefined;
  /** The counts of the selection, or of the list where single rows are selected; undefined = unknown. */
  counted: EventCounts | undefined;
}) {
  if (picked.kind === "none") return null;
  const except = picked.kind === "all" ? picked.except.size : null;
  const all = except === 0;
  const countOf = (of: typeof total) => (of && of.value !== null ? countText(of) : null);
  const matching = joined(countOf(total), "matching");
  const words =
    picked.kind === "ids"
      ? `${formatNumber(picked.ids.size)} selected`
      : all
        ? `All ${matching} selected`
        : `${countOf(counted?.total) ?? "All other"} selected, ${formatNumber(except ?? 0)} left out`;
  const nonePending = holdsNone(picked, ["PENDING"], events, counted)
    ? "None of them is PENDING: there is nothing to redrive"
    : null;
  const noneOpen = holdsNone(picked, ["PENDING", "QUEUED"], events, counted)
    ? "None of them is PENDING or QUEUED: there is nothing to ignore"
    : null;
  // Nothing else can be done with ignored events than release, repair or remove them.
  const ignoredOnly = holdsNone(picked, ["PENDING", "QUEUED", "REDRIVEN"], events, counted);
  const noneSettled = holdsNone(picked, ["IGNORED", "CONFIRMED"], events, counted)
    ? "none is IGNORED or CONFIRMED"
    : null;
  const more: MenuEntry[] = [
    {
      id: "confirm",
      needs: "confirm",
      label: "Confirm…",
      hint: "processed elsewhere, nothing is sent",
      onSelect: () => setAction("confirm"),
    },
    { id: "cooldown", needs: "control", label: "Cool down…", onSelect: () => setAction("cooldown") },
    { id: "blacklist", needs: "control", label: "Blacklist…", onSelect: () => setAction("blacklist") },
    {
      id: "remove",
      needs: "remove",
      label: "Remove…",
      danger: true,
      disabled: noneSettled !== null,
      hint: noneSettled ?? "moved to the archive",
      onSelect: () => setAction("remove"),
    },
  ];
  return (
    <SelectionBar
      words={words}
      selectAll={
        all || (picked.kind === "ids" && picked.ids.size === total?.value)
          ? null
          : { words: `select all ${matching}`, onSelect: selectAll }
      }
      onClear={clear}
    >
      {ignoredOnly ? null : (
        <>
          <ActionButton
            needs="redrive"
            size="sm"
            onClick={() => setAction("verify")}
            data-tip="Dry run only, nothing is sent  v"
          >
            Verify
          </ActionButton>
          <ActionButton
            needs="redrive"
            size="sm"
            variant="primary"
            refusal={nonePending}
            busy={sending}
            onClick={() => void redriveSelected()}
            data-tip="Uses the slow lane, a brake and, above ten events, a canary. Sent after 5 s; you can undo it until then."
          >
            {all
              ? `Redrive all ${matching}`
              : picked.kind === "ids"
                ? `Redrive ${plural(picked.ids.size, "event")}`
                : joined("Redrive", countOf(counted?.total), "events")}
          </ActionButton>
          <ActionButton
            needs="redrive"
            size="sm"
            refusal={nonePending}
            onClick={() => setAction("redrive")}
            data-tip="Preview it and choose the lane, rate, canary and more  r"
          >
            Redrive…
          </ActionButton>
          <ActionButton needs="ignore" size="sm" refusal={noneOpen} onClick={() => setAction("ignore")} data-tip="i">
            Ignore…
          </ActionButton>
        </>
      )}
      <ActionButton
        needs="edit"
        size="sm"
        onClick={mend}
        data-tip="Change their payloads with a recipe, then verify and redrive  m"
      >
        Mend…
      </ActionButton>
      {mayHoldIgnored(picked, filter, events) ? (
        <ActionButton
          needs="release"
          size="sm"
          variant={ignoredOnly ? "primary" : "secondary"}
          onClick={() => setAction("release")}
        >
          Release…
        </ActionButton>
      ) : null}
      <MenuButton
        name="More actions on the selection"
        label={
          <>
            More <span aria-hidden>▾</span>
          </>
        }
        side="top"
        size="sm"
        entries={more.filter(({ id }) => !ignoredOnly || id === "remove")}
      />
    </SelectionBar>
  );
}

function joined(...words: (string | null)[]): string {
  return words.filter((word) => word !== null).join(" ");
}
