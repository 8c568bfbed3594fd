"use client";

import Link from "next/link";
import { Td, Tr } from "@/components/ui/table";
import { TimeAgo } from "@/components/ui/time-ago";
import type { KindOut } from "@/lib/sources/kinds.shapes";
import type { SourceOut } from "@/lib/sources/sources.shapes";
import { useSourceActions } from "./source-actions";
import { sourceNumbers } from "./source-numbers";
import { SourceBadge, SourceTrouble, troubleOf } from "./source-status";

/** One source: its state and its numbers, and below them why it fails. Everything else is on its page. */
export function SourceRow(props: {
  source: SourceOut;
  kind: KindOut | null;
  /** The table has columns for what workers read, because some of its sources are read. */
  showsReads: boolean;
}) {
  const { source, kind, showsReads } = props;
  const { buttons, results } = useSourceActions(source, kind);
  const { parked, ...read } = sourceNumbers(source, kind?.capabilities.reads ?? true);
  const hasMore = results !== null || troubleOf(source) !== null;
  return (
    <tbody aria-label={source.name}>
      <Tr>
        <Td className="max-w-64 max-sm:max-w-32" data-tip={source.name}>
          <Link
            href={`/sources/${encodeURIComponent(source.name)}`}
            className="inline-block max-w-full truncate align-middle leading-6 font-medium text-accent hover:underline"
          >
            {source.name}
          </Link>
        </Td>
        <Td className="whitespace-nowrap">
          <SourceBadge source={source} kind={kind} />
        </Td>
        <Td numeric>{parked}</Td>
        {showsReads ? (
          <>
            {Object.entries(read).map(([name, value]) => (
              <Td key={name} numeric className="max-lg:hidden">
                {value}
              </Td>
            ))}
            <Td className="whitespace-nowrap text-muted max-lg:hidden">
              {source.state ? <TimeAgo at={source.state.at} /> : null}
            </Td>
          </>
        ) : null}
        <Td className="max-sm:hidden">{buttons}</Td>
      </Tr>
      {hasMore ? (
        <tr>
          <Td colSpan={8}>
            <div className="grid grid-cols-[minmax(0,1fr)] gap-2 pb-1">
              <SourceTrouble source={source} />
              {results}
            </div>
          </Td>
        </tr>
      ) : null}
    </tbody>
  );
}
