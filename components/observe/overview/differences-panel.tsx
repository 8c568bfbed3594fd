"use client";

import Link from "next/link";
import { useState } from "react";
import { ReadState } from "@/components/ui/loaded";
import { Panel } from "@/components/ui/panel";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { Toggles } from "@/components/ui/toggles";
import { groupPath } from "@/lib/events/groups/group-path.pure";
import type { Against, Difference } from "@/lib/observe/stats/difference.pure";
import type { Differences } from "@/lib/observe/stats/differences.shapes";
import { AGAINST_FIRST, onlySource } from "@/lib/observe/stats/differences-address.browser";
import { useDifferences } from "@/lib/observe/stats/stats.browser";
import { formatNumber, visible } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";

const AGAINST: { value: Against; label: string }[] = [
  { value: "hour", label: "1 h" },
  { value: "day", label: "1 d" },
  { value: "week", label: "1 w" },
];

/** `step`: what to do next, on the page of the group. */
const LOOKS: Record<Difference, { word: string; shape: ShapeName; colour: string; step: string }> = {
  new: { word: "new", shape: "disc", colour: "text-danger", step: "See a sample" },
  back: { word: "returned", shape: "return", colour: "text-bounced", step: "See what was done" },
  rising: { word: "rising", shape: "triangle", colour: "text-warning", step: "Find the cause" },
  falling: { word: "falling", shape: "half", colour: "text-redriven", step: "Try one event" },
  gone: { word: "stopped", shape: "ring", colour: "text-muted", step: "Verify and redrive" },
};

const SHOWN = 5;

/** The groups that differ from an hour, a day or a week ago: one list, what is new first. */
export function DifferencesPanel({ filter, className }: { filter: EventFilter; className?: string }) {
  const [against, setAgainst] = useState<Against>(AGAINST_FIRST);
  const [all, setAll] = useState(false);
  const source = onlySource(filter);
  // The list can be narrowed to one source alone.
  const excludes = filter["not.source"] !== undefined || filter["not.errorCode"] !== undefined;
  const narrower =
    excludes || (filter.source?.length ?? 0) > 1 || (source === null && (filter.errorCode?.length ?? 0) > 0);
  const read = useDifferences(against, source);
  const items = read.data?.items ?? [];
  return (
    <Panel
      title="What changed"
      className={className}
      meta={`compared with ${WORDS[against]} ago${source === null ? "" : `, in ${source}`}${narrower ? `, of all ${source === null ? "sources and " : ""}codes` : ""}`}
      actions={<Toggles label="Compare with" options={AGAINST} value={against} onChange={setAgainst} />}
    >
      <ReadState read={read} loading={{ rows: 2, columns: ["w-24", "flex-1", "w-20"] }} />
      {read.data && items.length === 0 ? (
        <p className="px-3 pt-1 pb-3 text-muted">
          Nothing changed: events of each group arrive as they did {WORDS[against]} ago, or as usual.
        </p>
      ) : null}
      <ul className="pb-1">
        {items.slice(0, all ? items.length : SHOWN).map((item) => (
          <Row key={item.fingerprint} item={item} path={groupPath(item.fingerprint, source, { from: FROM[against] })} />
        ))}
      </ul>
      {!all && items.length > SHOWN ? (
        <button
          type="button"
          className="min-h-6 px-3 pb-2 text-sm text-accent hover:underline"
          onClick={() => setAll(true)}
        >
          {formatNumber(items.length - SHOWN)} more
        </button>
      ) : null}
      {all && (read.data?.more ?? 0) > 0 ? (
        <p className="px-3 pb-2 text-sm text-muted">and {formatNumber(read.data!.more)} smaller ones</p>
      ) : null}
    </Panel>
  );
}

const WORDS: Record<Against, string> = { hour: "an hour", day: "a day", week: "a week" };
/** The page of a group judges the same window. */
const FROM: Record<Against, string> = { hour: "-1h", day: "-24h", week: "-7d" };

function Row({ item, path }: { item: Differences["items"][number]; path: string }) {
  const { word, shape, colour, step } = LOOKS[item.verdict];
  const [code, pattern] = [visible(item.errorCode), visible(item.pattern)];
  return (
    <li>
      <Link
        href={path}
        prefetch={false}
        className="grid min-h-8 grid-cols-[6.5rem_minmax(0,1fr)_auto] items-center gap-x-3 px-3 py-1 hover:bg-hover"
        data-tip={`${code}\n${pattern}\n${item.sources.map(visible).join(", ")}`}
      >
        <span className={`inline-flex items-center gap-1.5 text-sm whitespace-nowrap ${colour}`}>
          <Shape name={shape} className="size-3 shrink-0" />
          {word}
        </span>
        <span className="flex min-w-0 flex-wrap items-baseline gap-x-2">
          <bdi className="max-w-full truncate font-mono text-sm">{code}</bdi>
          <bdi className="min-w-0 flex-1 basis-40 truncate">{pattern}</bdi>
          <span className="max-w-32 truncate text-sm text-faint">{sourcesWords(item.sources)}</span>
        </span>
        <span className="text-right text-sm whitespace-nowrap">
          <span className="font-mono text-base">{formatNumber(item.now)}</span>
          <span className="text-muted">
            {item.before === 0 ? ", was 0" : `, was ${formatNumber(item.before)}${factorWords(item)}`}
          </span>
          <span className="ml-3 hidden w-40 text-left text-accent lg:inline-block">{step}</span>
        </span>
      </Link>
    </li>
  );
}

function factorWords({ factor, verdict }: Differences["items"][number]): string {
  if (factor === null || verdict !== "rising") return "";
  return `, × ${factor < 10 ? factor.toFixed(1) : formatNumber(Math.round(factor))}`;
}

function sourcesWords([first, ...more]: string[]): string {
  return more.length === 0 ? (first ?? "") : `${first} and ${more.length} more`;
}
