"use client";

import { aggregateText } from "@/components/events/event-state";
import type { useListSelection } from "@/components/events/list/use-list-selection";
import { ActionButton } from "@/components/ui/action-button";
import { classNames } from "@/components/ui/class-names";
import { ShortId } from "@/components/ui/short-id";
import { StateBadge } from "@/components/ui/state-badge";
import { SelectAll, Table, Td, Th, Tr } from "@/components/ui/table";
import { TextLink } from "@/components/ui/text-link";
import { TimeAgo } from "@/components/ui/time-ago";
import type { ArchivedEvent } from "@/lib/keep/archive/archive.shapes";
import { visible } from "@/lib/platform/plain/format.pure";
import { isPicked } from "@/lib/selection/selection.browser";
import { stateWas } from "./archive-words";

type Selecting = ReturnType<typeof useListSelection>;

type Props = {
  events: readonly ArchivedEvent[];
  selection: Selecting;
  /** Why nothing can be restored now; null = it can. */
  noRestore: string | null;
  busy: boolean;
  onRestore: (event: ArchivedEvent) => void;
};

/** Archived events as rows of a table, and on a phone as cards. */
export function ArchivedEvents(props: Props) {
  const { events, selection } = props;
  const some = selection.picked.kind !== "none";
  const every = some && events.every(({ id }) => isPicked(selection.picked, id));
  return (
    <>
      <div className="hidden md:block">
        <Table aria-label="Archived events">
          <thead>
            <tr>
              <Th className="w-9 pr-0!">
                <SelectAll
                  some={some}
                  every={every}
                  label="Select all that are shown"
                  onChange={selection.toggleLoaded}
                />
              </Th>
              <Th>former state</Th>
              <Th>event</Th>
              <Th>aggregate</Th>
              <Th className="hidden min-[1400px]:table-cell">type</Th>
              <Th>error code</Th>
              <Th>source</Th>
              <Th className="hidden min-[1280px]:table-cell">first seen</Th>
              <Th>removed</Th>
              <Th>
                <span className="sr-only">actions</span>
              </Th>
            </tr>
          </thead>
          <tbody>
            {events.map((event) => (
              <Row key={event.id} {...props} event={event} />
            ))}
          </tbody>
        </Table>
      </div>
      <ul aria-label="Archived events" className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3 pb-3 md:hidden">
        {events.map((event) => (
          <Card key={event.id} {...props} event={event} />
        ))}
      </ul>
    </>
  );
}

type Of = Omit<Props, "events"> & { event: ArchivedEvent };

function Row(props: Of) {
  const { event, selection } = props;
  const picked = isPicked(selection.picked, event.id);
  return (
    <Tr className={picked ? "bg-selected" : "bg-surface"}>
      <Td className="w-9 pr-0!">
        <Box {...props} />
      </Td>
      <Td>
        <StateBadge state={stateWas(event)} />
      </Td>
      <Td className="whitespace-nowrap">
        <ShortId id={event.eventId} label="event id" head={12} tail={4} />
      </Td>
      <Td className="max-w-44 truncate font-mono text-sm" data-tip={tipOf(aggregateText(event))}>
        <Aggregate event={event} />
      </Td>
      <Td className="hidden max-w-40 truncate min-[1400px]:table-cell" data-tip={tipOf(event.eventType)}>
        {event.eventType === null ? <Dash /> : <bdi>{visible(event.eventType)}</bdi>}
      </Td>
      <Td className="max-w-44 truncate font-mono text-sm" data-tip={tipOf(event.errorCode)}>
        <bdi>{visible(event.errorCode)}</bdi>
      </Td>
      <Td className="max-w-32 truncate" data-tip={tipOf(event.source)}>
        <bdi>{visible(event.source)}</bdi>
      </Td>
      <Td className="hidden text-muted min-[1280px]:table-cell">
        <TimeAgo at={event.firstSeen} />
      </Td>
      <Td className="max-w-48 truncate">
        <Removed event={event} />{" "}
        <span className="text-muted" data-tip={event.removedBy}>
          by {event.removedBy}
        </span>
      </Td>
      <Td className="sticky right-0 w-px bg-inherit whitespace-nowrap">
        <Restore {...props} />
      </Td>
    </Tr>
  );
}

function Card(props: Of) {
  const { event, selection } = props;
  return (
    <li
      className={classNames(
        "grid grid-cols-[auto_minmax(0,1fr)_auto] items-start gap-x-2.5 gap-y-1 rounded-lg border border-line bg-surface p-3",
        isPicked(selection.picked, event.id) && "bg-selected",
      )}
    >
      <Box {...props} />
      <div className="grid min-w-0 gap-1">
        <p className="flex flex-wrap items-center gap-x-3">
          <StateBadge state={stateWas(event)} />
          <bdi className="font-mono text-sm wrap-anywhere">{visible(event.errorCode)}</bdi>
        </p>
        <p className="flex min-w-0 flex-wrap gap-x-3">
          <ShortId id={event.eventId} label="event id" head={14} tail={6} />
          {event.aggregateId === null ? null : (
            <span className="line-clamp-1 font-mono text-sm break-all">
              <Aggregate event={event} />
            </span>
          )}
          {event.eventType === null ? null : <bdi className="wrap-anywhere">{visible(event.eventType)}</bdi>}
        </p>
        <p className="text-sm wrap-anywhere text-muted">
          {event.source} · seen <TimeAgo at={event.firstSeen} /> · removed <Removed event={event} /> by{" "}
          {event.removedBy}
        </p>
      </div>
      <Restore {...props} />
    </li>
  );
}

function Box({ event, selection }: Of) {
  return (
    <label className="-m-2 flex size-9 items-center justify-center">
      <input
        type="checkbox"
        data-archived
        aria-label={`Select event ${event.eventId}`}
        checked={isPicked(selection.picked, event.id)}
        onChange={(change) =>
          selection.toggleRow(event.id, change.nativeEvent instanceof MouseEvent && change.nativeEvent.shiftKey)
        }
        className="size-3.5 cursor-pointer"
      />
    </label>
  );
}

function Restore({ event, noRestore, busy, onRestore }: Of) {
  return (
    <ActionButton
      needs="restore"
      size="sm"
      refusal={noRestore}
      aria-disabled={busy}
      aria-label={`Restore event ${event.eventId}`}
      data-tip="Puts it back into the store unchanged; nothing is sent"
      onClick={() => onRestore(event)}
    >
      Restore
    </ActionButton>
  );
}

function Aggregate({ event: { aggregateId, version } }: { event: ArchivedEvent }) {
  if (aggregateId === null) return <Dash />;
  return (
    <>
      <bdi>{visible(aggregateId)}</bdi>
      {version === null ? null : <span className="text-faint"> v{version}</span>}
    </>
  );
}

/** When it was removed, as a link to the record of the removal. */
function Removed({ event }: { event: ArchivedEvent }) {
  return (
    <TextLink href={`/operations/${event.operationId}`} className="whitespace-nowrap">
      <TimeAgo at={event.removedAt} />
    </TextLink>
  );
}

function Dash() {
  return <span className="text-faint">–</span>;
}

const tipOf = (text: string | null) => (text ? visible(text) : undefined);
