"use client";

import { useState } from "react";
import { NextPageButton } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { ErrorPanel, ReadError } from "@/components/ui/error-panel";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { SkeletonRows } from "@/components/ui/skeleton";
import { TextLink } from "@/components/ui/text-link";
import { formatNumber, plural, shortenId, visible } from "@/lib/platform/plain/format.pure";
import { MEND_FAILURES, MEND_OUTCOMES, MEND_REASONS, type MendOutcome } from "@/lib/repair/mends/mending.pure";
import { type Counting, useMendPreview } from "@/lib/repair/mends/mends.browser";
import type { Difference, MendCounts, MendItem } from "@/lib/repair/recipes/recipes.shapes";
import type { Recipe } from "@/lib/selection/operations/recipe.shapes";
import type { Selection } from "@/lib/selection/selection.shapes";

const OUTCOMES: Record<MendOutcome, { word: string; shape: ShapeName; colour: string }> = {
  changed: { word: "change", shape: "half", colour: "text-cooling" },
  unchanged: { word: "stay unchanged", shape: "ring", colour: "text-muted" },
  "breaks-schema": { word: "would not match their schema", shape: "triangle", colour: "text-warning" },
  failed: { word: "fail", shape: "cross", colour: "text-danger" },
  refused: { word: "cannot be mended now", shape: "barred", colour: "text-ignored" },
};

const ONE: Record<MendOutcome, string> = {
  changed: "changes",
  unchanged: "stays unchanged",
  "breaks-schema": "would not match its schema",
  failed: "fails",
  refused: "cannot be mended now",
};

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((total, count) => total + count, 0);

function countOf(counts: MendCounts, outcome: MendOutcome): number {
  switch (outcome) {
    case "changed":
    case "unchanged":
      return counts[outcome];
    case "breaks-schema":
      return counts.breaksSchema;
    case "failed":
    case "refused":
      return sum(counts[outcome]);
  }
}

/** What the recipe would do to the selected events: the counts, and each event with its differences. */
export function MendPreview({ select, recipe, counting }: { select: Selection; recipe: Recipe; counting: Counting }) {
  const [outcome, setOutcome] = useState<MendOutcome | null>(null);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-3">
      <Counts counting={counting} chosen={outcome} onChoose={setOutcome} />
      <Items key={outcome ?? "all"} select={select} recipe={recipe} outcome={outcome} />
    </div>
  );
}

function Counts({
  counting: { counts, error },
  chosen,
  onChoose,
}: {
  counting: Counting;
  chosen: MendOutcome | null;
  onChoose: (outcome: MendOutcome | null) => void;
}) {
  const done = counts?.kind === "exact";
  const sign = done ? "" : "≥ ";
  return (
    <div className="grid gap-2">
      {error ? <ErrorPanel error={error} inline title="The events could not be counted" /> : null}
      <p role="status" className="text-muted">
        {counts === null
          ? error
            ? "Not counted."
            : "Counting…"
          : done
            ? `${plural(counts.looked, "event")} tested in all; nothing is stored.`
            : `${formatNumber(counts.looked)} tested so far, still counting…`}
      </p>
      <div className="flex flex-wrap gap-1.5">
        {MEND_OUTCOMES.map((outcome) => {
          const count = counts === null ? null : countOf(counts, outcome);
          const { word, shape, colour } = OUTCOMES[outcome];
          return (
            <button
              key={outcome}
              type="button"
              aria-pressed={chosen === outcome}
              disabled={count === 0 && done}
              onClick={() => onChoose(chosen === outcome ? null : outcome)}
              className="inline-flex min-h-7 items-center gap-1.5 rounded-md border border-line-strong bg-surface px-2 hover:bg-hover disabled:opacity-50 aria-pressed:border-accent aria-pressed:bg-selected"
            >
              <Shape name={shape} className={classNames("shrink-0", colour)} />
              <span className="font-mono text-sm">{count === null ? "–" : `${sign}${formatNumber(count)}`}</span>
              {word}
            </button>
          );
        })}
      </div>
      {counts && sum(counts.failed) + sum(counts.refused) > 0 ? (
        <p className="text-sm text-muted">
          {[...reasonList(counts.failed), ...reasonList(counts.refused)].join(" · ")}
        </p>
      ) : null}
    </div>
  );
}

const reasonList = (counts: Record<string, number>) =>
  Object.entries(counts).map(([reason, count]) => `${reasonText(reason)} (${formatNumber(count)})`);

function reasonText(reason: string): string {
  const known: Record<string, string> = { ...MEND_REASONS, ...MEND_FAILURES };
  return known[reason] ?? reason;
}

function Items({ select, recipe, outcome }: { select: Selection; recipe: Recipe; outcome: MendOutcome | null }) {
  const read = useMendPreview(select, recipe, outcome);
  const items = read.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <section aria-label="Events of the preview" className="grid grid-cols-[minmax(0,1fr)] gap-1">
      <ReadError read={read} stale={items.length > 0} />
      {read.isPending ? (
        <SkeletonRows rows={5} columns={["w-40", "flex-1"]} />
      ) : items.length > 0 ? (
        <ul className="grid grid-cols-[minmax(0,1fr)] gap-px overflow-hidden rounded-md border border-line bg-line">
          {items.map((item) => (
            <MendLine key={item.id} item={item} />
          ))}
        </ul>
      ) : read.isError || read.hasNextPage ? null : (
        <p className="text-muted">
          {outcome === null ? "No event is selected: the selection matches nothing." : `None of them ${ONE[outcome]}.`}
        </p>
      )}
      <NextPageButton read={read}>More events</NextPageButton>
    </section>
  );
}

/** One event of the preview, with each place that differs. */
export function MendLine({ item }: { item: MendItem }) {
  const { shape, colour } = OUTCOMES[item.outcome];
  const grown = item.bytesAfter - item.bytesBefore;
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-1 bg-surface px-3 py-2">
      <p className="flex flex-wrap items-center gap-x-3">
        <span className={classNames("inline-flex items-center gap-1.5", colour)}>
          <Shape name={shape} />
          {ONE[item.outcome]}
        </span>
        <TextLink href={`/events/${item.id}`} data-tip={item.eventId} className="font-mono text-sm">
          {shortenId(item.eventId, 20, 8)}
        </TextLink>
        <span className="text-sm text-faint">
          {item.source} · revision {item.revision}
          {item.outcome === "changed" || item.outcome === "breaks-schema"
            ? ` · ${grown === 0 ? "same size" : `${grown > 0 ? "+" : "−"}${plural(Math.abs(grown), "byte")}`}`
            : null}
        </span>
      </p>
      {item.reason === null ? null : (
        <p className="text-muted wrap-anywhere">{refusalText(item.reason, item.detail)}</p>
      )}
      <Differences differences={item.differences} more={item.more} />
    </li>
  );
}

function Differences({ differences, more }: { differences: Difference[]; more: boolean }) {
  if (differences.length === 0) return null;
  return (
    <ul className="grid gap-0.5 font-mono text-sm">
      {differences.map(({ at, before, after }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two places of masked names read alike, and the list never changes.
        <li key={index} className="grid gap-x-3 sm:grid-cols-[minmax(8rem,16rem)_minmax(0,1fr)]">
          <span className="text-muted wrap-anywhere">{at === "" ? "the payload" : visible(at)}</span>
          <span className="wrap-anywhere">
            {before === null ? (
              <span className="sr-only">added </span>
            ) : (
              <del className={classNames("text-danger", after !== null && "decoration-danger/60")}>
                {visible(before)}
              </del>
            )}
            {before !== null && after !== null ? " → " : null}
            {after === null ? (
              <span className="sr-only"> removed</span>
            ) : (
              <ins className="text-ok no-underline">{visible(after)}</ins>
            )}
          </span>
        </li>
      ))}
      {more ? <li className="font-sans text-faint">and more places</li> : null}
    </ul>
  );
}

/** The detail of a recipe's failure begins with its reason; what breaks a schema is said in the detail alone. */
function refusalText(reason: string, detail: string | null): string {
  const words = reasonText(reason);
  if (detail === null) return words;
  return words === reason || detail.startsWith(words) ? detail : `${words}: ${detail}`;
}
