"use client";

import { download, useRevealReason } from "@/components/guard/masking/reveal";
import { MenuButton } from "@/components/ui/popup-button";
import { exportHref } from "@/lib/events/events.browser";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

const UNMASKED = {
  title: "Export all matching events unmasked",
  description:
    "The file contains each event as it was parked, including values that are masked on the screen. The audit records who exported which events, and why.",
  verb: "Export unmasked",
};

/** Downloads all matching events, not only the loaded ones. */
export function ExportMenu({ filter }: { filter: EventFilter }) {
  const { start, dialog } = useRevealReason((reason) => download(exportHref(filter, "ndjson", reason)), UNMASKED);
  return (
    <>
      {dialog}
      <MenuButton
        name="Export all matching"
        label={
          <>
            Export <span aria-hidden>▾</span>
          </>
        }
        variant="ghost"
        size="sm"
        entries={[
          { kind: "heading", id: "heading", label: "All matching, newest first" },
          {
            id: "ndjson",
            label: "NDJSON…",
            hint: "complete events that can be parked again; nothing is masked",
            needs: "reveal",
            onSelect: start,
          },
          {
            kind: "link",
            id: "csv",
            label: "CSV",
            hint: "the columns of the list, masked",
            href: exportHref(filter, "csv"),
            download: true,
          },
        ]}
      />
    </>
  );
}
