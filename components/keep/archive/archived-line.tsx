"use client";

import { TextLink } from "@/components/ui/text-link";
import {
  type ArchiveFilter,
  archiveFiltersFor,
  archiveHref,
  useArchivedCount,
} from "@/lib/keep/archive/archive.browser";
import { visible } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { archivedLine } from "./archive-words";

/** Says that events which a list cannot show lie in the archive: those of the event or aggregate that its filter names. */
export function ArchivedLine({ filter, listed }: { filter: EventFilter; listed: boolean }) {
  // A word that was found in error texts is probably no name.
  if (listed && filter.q !== undefined) return null;
  return archiveFiltersFor(filter).map((named) => <OneLine key={archiveHref(named)} named={named} listed={listed} />);
}

function OneLine({ named, listed }: { named: ArchiveFilter; listed: boolean }) {
  const { data } = useArchivedCount(named);
  if (data === undefined || data.count === 0) return null;
  return (
    <p className="min-h-7 shrink-0 px-3 leading-7 wrap-anywhere text-muted">
      {visible(archivedLine(named, data, listed))}{" "}
      <TextLink href={archiveHref(named)} className="touch inline-block min-h-6 leading-6">
        in the archive
      </TextLink>
    </p>
  );
}
