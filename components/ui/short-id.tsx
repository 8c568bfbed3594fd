"use client";

import { shortenId, visible } from "@/lib/platform/plain/format.pure";
import { classNames } from "./class-names";
import { useCopy } from "./copy-button";

/** An id without its middle. The whole id is shown on hover, read by a screen reader and copied by a click. */
export function ShortId(props: {
  id: string;
  /** The name of the id: `event id`, `trace id`. */
  label?: string;
  head?: number;
  tail?: number;
  /** Inside a grid row: the Tab key skips it, because a list has hundreds of them. */
  inRow?: boolean;
}) {
  const { id, label = "id", head, tail, inRow } = props;
  const { state, copy } = useCopy();
  const shown = shortenId(id, head, tail);
  return (
    <button
      type="button"
      tabIndex={inRow ? -1 : undefined}
      aria-label={`${shown}: copy the ${label}`}
      data-tip={state === "copied" ? "Copied" : state === "failed" ? "Could not copy" : `${visible(id)}\nclick to copy`}
      onClick={(event) => {
        event.stopPropagation();
        copy(id);
      }}
      className={classNames(
        "max-w-full truncate rounded-sm font-mono text-sm decoration-faint decoration-dotted underline-offset-3 hover:underline",
        state === "copied" && "text-ok",
      )}
    >
      <bdi>{shown}</bdi>
    </button>
  );
}
