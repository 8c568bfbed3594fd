import { classNames } from "./class-names";
import { Panel } from "./panel";

/** A grey bar in the size of the text that is being loaded. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={classNames("skeleton h-3", className)} />;
}

const WIDTHS = ["w-3/4", "w-1/2", "w-5/6", "w-2/3", "w-2/5"];

/** Grey rows in the height of the real rows; `columns` are the widths of their cells as classes (`w-24`, `flex-1`). */
export function SkeletonRows({ rows, columns }: { rows: number; columns: string[] }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without identity, never reordered
        <div key={row} className="flex h-8 items-center gap-3 border-b border-line px-3">
          {columns.map((width, column) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: as above
            <div key={column} className={width}>
              <Skeleton className={WIDTHS[(row + column) % WIDTHS.length]} />
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

/** Two cards; `body` is the height of a card's content as a class. */
export function CardSkeletons({ body }: { body: string }) {
  return (
    <div role="status" aria-label="Loading" className="grid gap-3 px-3 lg:grid-cols-2">
      {[0, 1].map((card) => (
        <Panel key={card} bodyClassName="grid gap-3 p-3">
          <Skeleton className="h-4! w-40" />
          <Skeleton className={body} />
        </Panel>
      ))}
    </div>
  );
}
