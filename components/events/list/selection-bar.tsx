import type { ReactNode } from "react";

/** The frame of the actions on a selection, below a list: it appears with the first selected row and does not move. */
export function SelectionBar(props: {
  words: string;
  selectAll: { words: string; onSelect: () => void } | null;
  onClear: () => void;
  children: ReactNode;
}) {
  const { words, selectAll, onClear, children } = props;
  return (
    <section
      aria-label="Selection"
      className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1.5 border-t border-line-strong bg-raised px-3 py-1.5"
    >
      <p aria-live="polite" className="whitespace-nowrap">
        <span className="font-medium">{words}</span>
        {selectAll === null ? null : (
          <>
            <span className="text-faint"> · </span>
            <button type="button" onClick={selectAll.onSelect} className="text-accent hover:underline">
              {selectAll.words}
            </button>
          </>
        )}
        <span className="text-faint"> · </span>
        <button type="button" onClick={onClear} data-tip="Esc" className="text-muted hover:underline">
          Clear
        </button>
      </p>
      <div className="ml-auto flex flex-wrap items-center gap-1.5">{children}</div>
    </section>
  );
}
