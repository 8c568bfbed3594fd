"use client";

import { NextPageButton } from "@/components/ui/button";
import { itemsOf, ListState } from "@/components/ui/loaded";
import { Shape, type ShapeName } from "@/components/ui/shape";
import { TimeAgo } from "@/components/ui/time-ago";
import { useDeliveries } from "@/lib/observe/channels/channels.browser";
import type { DeliveryOut } from "@/lib/observe/channels/channels.shapes";

const LOOKS: Record<DeliveryOut["state"], { shape: ShapeName; colour: string; word: string }> = {
  waiting: { shape: "clock", colour: "text-warning", word: "queued" },
  sent: { shape: "check", colour: "text-confirmed", word: "sent" },
  failed: { shape: "cross", colour: "text-danger", word: "failed" },
};

export function Deliveries({ name }: { name: string }) {
  const read = useDeliveries(name);
  const items = itemsOf(read);
  return (
    <div className="border-t border-line">
      <ListState
        read={read}
        loading={{ rows: 3, columns: ["w-20", "flex-1", "w-24"] }}
        none={<p className="px-3 py-3 text-muted">Nothing sent yet: send a test message.</p>}
      />
      <ul aria-label={`Messages to ${name}`}>
        {items.map((delivery) => (
          <Delivery key={delivery.id} delivery={delivery} />
        ))}
      </ul>
      <NextPageButton read={read}>Older messages</NextPageButton>
    </div>
  );
}

function Delivery({
  delivery: { event, sentence, state, at, sentAt, nextAt, refusals, lastError },
}: {
  delivery: DeliveryOut;
}) {
  const { shape, colour, word } = LOOKS[state];
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-0.5 border-line px-3 py-1.5 not-first:border-t">
      <div className="flex flex-wrap items-center gap-x-3">
        <span className={`inline-flex items-center gap-1.5 text-sm whitespace-nowrap ${colour}`}>
          <Shape name={shape} />
          {word}
        </span>
        <span className="text-sm text-muted">{event}</span>
        <TimeAgo at={sentAt ?? at} className="ml-auto text-sm text-muted" />
      </div>
      <p className="wrap-anywhere">{sentence}</p>
      {lastError === null ? null : (
        <p className="text-sm text-warning wrap-anywhere">
          {lastError}
          {refusals > 0 ? ` (${refusals} refused)` : ""}
          {nextAt === null ? null : (
            <>
              {" "}
              · next attempt <TimeAgo at={nextAt} />
            </>
          )}
        </p>
      )}
    </li>
  );
}
