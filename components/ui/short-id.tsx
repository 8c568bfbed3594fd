"use client";

import { shortenId, visible } from "@/lib/browser/format";
import { classNames } from "./class-names";
import { useCopy } from "./copy-button";

/** An id with its middle cut out: whole on hover and to a screen reader, copied by a click. */
export function ShortId({
  id,
  label = "id",
  head,
  tail,
  inRow,
  className,
}: {
  id: string;
  /** What it is: `event id`, `trace id`. */
  label?: string;
  head?: number;
  tail?: number;
  /** Inside a grid row: not a stop of the tab key, which would pass through hundreds of them. */
  inRow?: boolean;
  className?: string;
}) {
  const { state, copy } = useCopy();
  const shown = shortenId(id, head, tail);
  return (
    <button
      type="button"
      tabIndex={inRow ? -1 : undefined}
      aria-label={`${shown}: copy the ${label}`}
      data-tip={
        state === "copied" ? "Copied" : state === "failed" ? "Copying was refused" : `${visible(id)}\nclick to copy`
      }
      onClick={(event) => {
        event.stopPropagation();
        copy(id);
      }}
      className={classNames(
        "max-w-full truncate rounded-sm font-mono text-sm decoration-faint decoration-dotted underline-offset-3 hover:underline",
        state === "copied" && "text-ok",
        className,
      )}
    >
      <bdi>{shown}</bdi>
    </button>
  );
}
