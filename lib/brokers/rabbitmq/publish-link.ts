import type { ChannelModel, ConfirmChannel, Message } from "amqplib";
import { REDRIVE_ATTEMPT, REDRIVE_EVENT_ID, REDRIVE_ID } from "@/lib/brokers/conventions/redrive-mark";
import type { PublishError, PublishReceipt } from "@/lib/brokers/port";
import { receivedProperties } from "@/lib/brokers/rabbitmq/exact-properties";
import { headerViewOf } from "@/lib/brokers/rabbitmq/message";

/** One publish that waits for its confirm. */
export type Pending = {
  sentAtMs: number;
  /** Set when the broker returned the message; the confirm that follows then is no delivery. */
  returned: string | null;
  /** Its caller no longer waits for the confirm. */
  abandoned: boolean;
  settle(outcome: PublishReceipt | PublishError): void;
};

/** One connection with its confirm channel, and the publishes that wait for confirms on it. */
export type Link = {
  model: ChannelModel;
  channel: ConfirmChannel;
  pending: Map<string, Pending[]>;
  /** Publishes whose caller still waits for the confirm. */
  awaited: number;
  /** Why the broker takes no message now (memory or disk alarm), or null. */
  blocked: string | null;
  /** Resolves when the write buffer has room again; null while it has. */
  draining: PromiseWithResolvers<void> | null;
  /** When the broker last confirmed anything, on the monotonic clock. */
  confirmedAtMs: number;
  /** amqplib handles a nack now: it reports a nack and a lost channel by the same callback. */
  nacking: boolean;
  /** Why the link ended, in the words of the broker or the socket. */
  failure: Error | null;
  open: boolean;
  /** Called when no caller waits for a confirm any more. */
  idle: () => void;
};

/** Identifies a message in a `basic.return`, which carries no delivery tag. */
export function keyOf(headers: { id: string; attempt: string; eventId: string }): string {
  return `${headers.id} ${headers.attempt} ${headers.eventId}`;
}

function keyOfReturned(message: Message): string | null {
  const received = receivedProperties(message);
  if (!received.readable) return null;
  const headers = headerViewOf(received.properties.headers);
  const [id, attempt, eventId] = [REDRIVE_ID, REDRIVE_ATTEMPT, REDRIVE_EVENT_ID].map((name) => headers.text(name));
  return id && attempt && eventId ? keyOf({ id, attempt, eventId }) : null;
}

/** Watches a new connection and its channel. `ended` is called once or more when the link can carry no message any more. */
export function openLink(
  model: ChannelModel,
  channel: ConfirmChannel,
  { nowMs, ended }: { nowMs: number; ended: (link: Link) => void },
): Link {
  const link: Link = {
    model,
    channel,
    pending: new Map(),
    awaited: 0,
    blocked: null,
    draining: null,
    confirmedAtMs: nowMs,
    nacking: false,
    failure: null,
    open: true,
    idle: () => undefined,
  };
  const drained = () => {
    link.draining?.resolve();
    link.draining = null;
  };
  const failed = (error: Error) => {
    link.failure = error;
  };
  const end = () => {
    link.open = false;
    drained();
    ended(link);
  };
  model.on("error", failed);
  model.on("blocked", (reason) => {
    link.blocked = reason;
  });
  model.on("unblocked", () => {
    link.blocked = null;
  });
  model.on("close", end);
  channel.on("error", failed);
  channel.on("close", end);
  channel.on("drain", drained);
  channel.on("return", (message: Message) => markReturned(link, message));
  // These two listeners run before and after amqplib's own handling of a nack.
  channel.prependListener("nack", () => {
    link.nacking = true;
  });
  channel.on("nack", () => {
    link.nacking = false;
  });
  return link;
}

export function remember(link: Link, key: string, pending: Pending): void {
  const same = link.pending.get(key);
  if (same) same.push(pending);
  else link.pending.set(key, [pending]);
  link.awaited += 1;
}

export function forget(link: Link, key: string, pending: Pending): void {
  const left = link.pending.get(key)?.filter((other) => other !== pending) ?? [];
  if (left.length === 0) link.pending.delete(key);
  else link.pending.set(key, left);
  if (!pending.abandoned) noLongerAwaited(link);
}

export function noLongerAwaited(link: Link): void {
  link.awaited -= 1;
  if (link.awaited === 0) link.idle();
}

/** A returned message precedes its confirm: it is the oldest publish with that key that is not marked yet. */
function markReturned(link: Link, message: Message): void {
  const key = keyOfReturned(message);
  const pending = key === null ? undefined : link.pending.get(key)?.find((one) => one.returned === null);
  const { replyCode, replyText } = message.fields as unknown as { replyCode?: number; replyText?: string };
  if (pending) pending.returned = `${replyCode ?? 312} ${replyText ?? "NO_ROUTE"}`;
}
