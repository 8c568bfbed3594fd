"use client";

import { memo } from "react";
import { AdmissionMark } from "@/components/events/admission-note";
import { EventBadge } from "@/components/events/event-badge";
import { aggregateText } from "@/components/events/event-state";
import { classNames } from "@/components/ui/class-names";
import { Shape } from "@/components/ui/shape";
import { ShortId } from "@/components/ui/short-id";
import { TimeAgo } from "@/components/ui/time-ago";
import { visible } from "@/lib/platform/plain/format.pure";
import { VALUES_MAX } from "@/lib/selection/filter/filter-params.shapes";
import styles from "./event-table.module.css";
import type { ListRow } from "./list-rows";

export type RowActions = {
  open: (id: string) => void;
  toggle: (id: string, range: boolean, eventId: string) => void;
};

/** The DOM id of a row, for `aria-activedescendant` of the grid. */
export const rowDomId = (id: string) => `event-${id}`;

type Props = {
  row: ListRow;
  /** The list is sorted by the time of the last failure, and shows it. */
  byFailure: boolean;
  index: number;
  /** The distance from the top of the list and the height, px. */
  top: number;
  height: number;
  selected: boolean;
  /** No further row can be left out of all matching. */
  locked: boolean;
  active: boolean;
  opened: boolean;
  actions: RowActions;
};

/** One event in the list. CSS places the cells by the names of the grid, so a narrow list can show them as a card. */
export const EventRow = memo(function EventRow(props: Props) {
  const { row, byFailure, index, top, height, selected, locked, active, opened, actions } = props;
  const { event, gone } = row;
  const aggregate = aggregateText(event);
  return (
    <tr
      id={rowDomId(event.id)}
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-tip={gone ? "It no longer matches; shown until you refresh the list (n)" : undefined}
      onClick={() => actions.open(event.id)}
      style={{ height, transform: `translateY(${top}px)` }}
      className={classNames(
        styles.line,
        "absolute inset-x-0 top-0 cursor-pointer border-b border-line hover:bg-hover aria-selected:bg-selected",
        (active || opened) && "bg-hover",
        active && "shadow-[inset_2px_0_0_var(--accent)]",
        gone && "bg-canvas italic",
      )}
    >
      <td className={styles.select}>
        {/* The whole cell takes the click, so that a click beside the box does not open the event. */}
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: only keeps the click from the row */}
        <label className="-m-2 flex size-9 items-center justify-center" onClick={(click) => click.stopPropagation()}>
          <input
            type="checkbox"
            tabIndex={-1}
            checked={selected}
            disabled={locked && selected}
            data-tip={
              locked && selected
                ? `At most ${VALUES_MAX} events can be left out: narrow the filter to leave out more`
                : undefined
            }
            aria-label={`Select event ${event.eventId}`}
            onChange={(change) =>
              actions.toggle(
                event.id,
                change.nativeEvent instanceof MouseEvent && change.nativeEvent.shiftKey,
                event.eventId,
              )
            }
            className="size-3.5"
          />
        </label>
      </td>
      <td className={styles.state}>
        {gone ? <span className="text-faint">left this list</span> : <EventBadge event={event} />}
      </td>
      <td className={classNames(styles.seen, "text-muted")}>
        {byFailure && event.failedAt === null ? (
          <span className="text-faint">–</span>
        ) : (
          <TimeAgo
            at={byFailure ? event.failedAt! : event.firstSeen}
            beside={{
              ...(byFailure ? { "first seen": event.firstSeen } : { "last failed": event.failedAt }),
              "first failed": event.firstFailedAt,
            }}
          />
        )}
      </td>
      <td className={classNames(styles.code, "truncate font-mono text-sm")} title={visible(event.errorCode)}>
        <bdi>{visible(event.errorCode)}</bdi>
        <AdmissionMark event={event} />
      </td>
      <td className={classNames(styles.source, "truncate")} data-tip={visible(event.source)}>
        <bdi>{visible(event.source)}</bdi>
      </td>
      <td
        className={classNames(styles.type, "truncate")}
        data-tip={event.eventType === null ? undefined : visible(event.eventType)}
      >
        {event.eventType === null ? <span className="text-faint">–</span> : <bdi>{visible(event.eventType)}</bdi>}
      </td>
      <td className={classNames(styles.aggregate, "truncate font-mono text-sm")} data-tip={aggregate || undefined}>
        {event.aggregateId === null ? (
          <span className="text-faint">–</span>
        ) : (
          <>
            <bdi>{visible(event.aggregateId)}</bdi>
            {event.version === null ? null : <span className="text-faint"> v{event.version}</span>}
          </>
        )}
      </td>
      <td className={styles.event}>
        <ShortId id={event.eventId} label="event id" head={6} tail={4} inRow />
      </td>
      <td
        className={styles.tries}
        data-tip={`${event.attempts} attempts${event.bounces > 0 ? `, bounced ${event.bounces} times` : ""}`}
      >
        {event.attempts}
        <span className="text-faint sm:hidden"> {event.attempts === 1 ? "try" : "tries"}</span>
        {event.bounces > 0 ? (
          <span className="ml-1 inline-flex items-center gap-0.5 text-bounced">
            <Shape name="return" className="size-2.5" />
            {event.bounces}
          </span>
        ) : null}
      </td>
      <td className={classNames(styles.error, "truncate text-muted")}>
        <bdi>{event.lastError === null ? null : visible(event.lastError)}</bdi>
      </td>
    </tr>
  );
});
