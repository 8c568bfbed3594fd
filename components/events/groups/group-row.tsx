"use client";

import Link from "next/link";
import { Sparkline } from "@/components/charts/sparkline";
import { ActionButton } from "@/components/ui/action-button";
import { LinkButton } from "@/components/ui/button";
import { classNames } from "@/components/ui/class-names";
import { TimeAgo } from "@/components/ui/time-ago";
import type { GroupOut } from "@/lib/events/events.shapes";
import { formatNumber, visible } from "@/lib/platform/plain/format.pure";
import type { EventFilter } from "@/lib/selection/filter/event-filter.shapes";
import { groupHref } from "./group-filter";
import styles from "./group-table.module.css";
import { MuteNote } from "./mute-note";
import { VerdictBadge } from "./verdict-badge";

export type GroupAction = "redrive" | "mute";

/** The DOM id of a row, for `aria-activedescendant` of the grid. */
export const groupDomId = (fingerprint: string) => `group-${fingerprint}`;

type Props = {
  group: GroupOut;
  filter: EventFilter;
  index: number;
  selected: boolean;
  active: boolean;
  onToggle: (fingerprint: string, range: boolean) => void;
  onOpen: (fingerprint: string) => void;
  onAct: (action: GroupAction, group: GroupOut) => void;
};

/** One group: a row of 32 px, and a card on a phone. Its actions stand over its end while the pointer or the keyboard is on it. */
export function GroupRow({ group, filter, index, selected, active, onToggle, onOpen, onAct }: Props) {
  const { fingerprint, errorCode, counts } = group;
  const parked = counts.PENDING + counts.QUEUED;
  const none = counts.PENDING === 0 ? "None of them is PENDING" : null;
  return (
    <tr
      id={groupDomId(fingerprint)}
      aria-rowindex={index + 2}
      aria-selected={selected}
      onClick={(click) => {
        // A link and a button of the row act by themselves.
        if (!(click.target as Element).closest("a, button, label")) onOpen(fingerprint);
      }}
      className={classNames(
        styles.line,
        "group/row relative min-h-8 cursor-pointer border-b border-line hover:bg-hover aria-selected:bg-selected",
        active && "bg-hover shadow-[inset_2px_0_0_var(--accent)]",
      )}
    >
      <td className={styles.select}>
        <label className="-m-2 flex size-9 items-center justify-center">
          <input
            type="checkbox"
            tabIndex={-1}
            checked={selected}
            aria-label={`Select ${visible(errorCode)} ${group.pattern.slice(0, 80)}`}
            onChange={(change) =>
              onToggle(fingerprint, change.nativeEvent instanceof MouseEvent && change.nativeEvent.shiftKey)
            }
            className="size-3.5"
          />
        </label>
      </td>
      <td className={classNames(styles.rise, "flex min-w-0 items-center")}>
        <VerdictBadge group={group} />
      </td>
      <td className={classNames(styles.group, "flex min-w-0 items-baseline gap-2")}>
        <bdi className="max-w-48 shrink-0 truncate font-mono text-sm font-medium" data-tip={visible(errorCode)}>
          {visible(errorCode)}
        </bdi>
        <Link
          href={groupHref(filter, group)}
          prefetch={false}
          className="min-w-0 flex-1 truncate hover:underline"
          data-tip={tipOf(group)}
        >
          <bdi>{group.pattern === "" ? "without a message" : visible(group.pattern)}</bdi>
        </Link>
        {group.mute === null ? null : (
          <MuteNote mute={group.mute} sources={group.sources} className="max-w-[50%] shrink-0 text-sm" />
        )}
      </td>
      <td className={classNames(styles.source, "truncate text-muted")} data-tip={group.sources.map(visible).join("\n")}>
        <bdi>{visible(group.sources[0] ?? "")}</bdi>
        {group.sources.length > 1 ? ` +${group.sources.length - 1}` : ""}
      </td>
      <td className={classNames(styles.count, "text-right font-mono")} data-tip={countsTip(group)}>
        {formatNumber(parked)}
      </td>
      <td className={styles.trend}>
        <Sparkline values={group.trend} width={72} height={18} />
      </td>
      <td className={classNames(styles.since, "text-muted")} data-since={group.since.of}>
        <TimeAgo at={group.since.at} />
      </td>
      <td className={classNames(styles.last, "text-muted")}>
        <TimeAgo at={group.lastSeen} />
      </td>
      <td
        className={classNames(
          "absolute top-0 right-0 hidden h-8 items-center gap-1.5 bg-hover pr-3 pl-6 sm:group-hover/row:flex sm:group-focus-within/row:flex",
          active && "sm:flex",
        )}
      >
        <ActionButton needs="redrive" size="sm" refusal={none} onClick={() => onAct("redrive", group)}>
          Redrive…
        </ActionButton>
        <ActionButton needs="ignore" size="sm" onClick={() => onAct("mute", group)}>
          Mute or ignore…
        </ActionButton>
        <LinkButton size="sm" prefetch={false} href={groupHref(filter, group)}>
          Open
        </LinkButton>
      </td>
    </tr>
  );
}

function tipOf({ pattern, exceptionType, firstFrame, unstored, arrivals }: GroupOut): string {
  return [
    pattern.slice(0, 500),
    exceptionType ?? "",
    firstFrame === null ? "" : `at ${firstFrame}`,
    unstored === null
      ? ""
      : `${formatNumber(unstored.count)} of ${formatNumber(arrivals.count)} arrivals are not stored`,
  ]
    .filter(Boolean)
    .join("\n");
}

function countsTip({ counts }: GroupOut): string {
  return (["PENDING", "QUEUED", "REDRIVEN", "IGNORED"] as const)
    .filter((status) => counts[status] > 0)
    .map((status) => `${formatNumber(counts[status])} ${status}`)
    .join("\n");
}
