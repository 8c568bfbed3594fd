import Link from "next/link";
import type { ReactNode } from "react";
import { useIsInBand } from "@/components/ui/error-panel";
import { Shape } from "@/components/ui/shape";
import { Skeleton } from "@/components/ui/skeleton";
import type { ApiError } from "@/lib/platform/api/api-error.shapes";

/** The read of one part of the overview; the last good answer stays while a poll fails. */
export type Part<Data> = { data: Data | undefined; error: ApiError | null };

/** One number with a link. A failed read shows its error in the tile only. */
export function Tile<Data>(props: {
  title: string;
  part: Part<Data>;
  /** The age and the kind of the number, on hover. */
  tip?: (data: Data) => string;
  children: (data: Data) => { href: string; value: ReactNode; detail?: ReactNode };
}) {
  const { title, part, tip, children } = props;
  const { data, error } = part;
  const inBand = useIsInBand(error);
  if (data === undefined) {
    return (
      <li className="grid min-h-18 content-start max-md:min-h-20 gap-1 px-3 py-2">
        <h2 className="text-sm text-muted">{title}</h2>
        {error ? (
          <p role="alert" className="flex items-baseline gap-1.5 text-danger" data-tip={error.detail}>
            <Shape name="triangle" className="shrink-0 translate-y-0.5" />
            {error.code === "read-timeout" ? "took too long" : "could not be read"}
          </p>
        ) : (
          <Skeleton className="mt-1 h-5! w-24" />
        )}
      </li>
    );
  }
  const shown = children(data);
  return (
    <li className="relative grid min-h-18 content-start max-md:min-h-20 gap-1 px-3 py-2 hover:bg-hover">
      <h2 className="text-sm text-muted">
        {/* No prefetch: the address changes with the clock and would be fetched again at each poll. */}
        <Link href={shown.href} prefetch={false} className="after:absolute after:inset-0">
          {title}
        </Link>
        {error && !inBand ? <span className="text-danger"> · not updated</span> : null}
      </h2>
      <p className="flex flex-wrap items-baseline gap-x-2" data-tip={tip?.(data)}>
        <span className="text-xl font-semibold whitespace-nowrap">{shown.value}</span>
        {shown.detail ? <span className="text-muted">{shown.detail}</span> : null}
      </p>
    </li>
  );
}
