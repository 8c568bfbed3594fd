import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import { PubsubClient } from "@/lib/brokers/pubsub/client";
import { ANSWER_TOO_LARGE, PubsubFault } from "@/lib/brokers/pubsub/failure";
import { type PubsubConfig, shortName } from "@/lib/brokers/pubsub/kind.shapes";
import { pubsubMessage } from "@/lib/brokers/pubsub/message";
import type { ReceivedMessage } from "@/lib/brokers/pubsub/wire";
import { atMost, type Clock } from "@/lib/platform/clock";

/** Messages of one pull and of one commit at most. */
const BATCH_MAX = 500;
/** Messages in hand at most: those set aside, and a batch. */
const IN_HAND_MAX = 1_000;
/** Ids of one request: Pub/Sub takes half a megabyte of them. */
const IDS_MAX = 1_000;
/** How long a pull waits for a first message. */
const WAIT_MS = 30_000;
/** A shorter wait would cut off answers: their messages would come again only after the deadline of the subscription. */
const WAIT_MS_MIN = 1_000;
/** The shortest acknowledgement deadline of a subscription: until it is extended nothing longer is sure. */
const FIRST_LEASE_MS = 10_000;
const DEADLINE_SECONDS_DEFAULT = 60;
/** How long, on stop, Pub/Sub may take to take the messages in hand back. */
const HAND_BACK_MS = 2_000;
/** Tries of an acknowledgement that fails for a moment, in a subscription with exactly-once delivery. */
const ACKNOWLEDGE_TRIES = 6;
const ACKNOWLEDGE_PAUSE_MS = 200;

/** A message in hand. Nobody else gets it until `untilMs` on the monotonic clock. */
type InHand = { ackId: string; untilMs: number };

export function pubsubReader(config: PubsubConfig, deps: AdapterDeps): Reader<InHand> {
  return {
    what: `subscription ${shortName(config.subscription)}`,
    batchMax: BATCH_MAX,
    // Counted only for a subscription that has a dead-letter policy itself.
    holdFromDeliveries: 1,
    open: async (signal) => {
      const client = new PubsubClient(config, deps);
      try {
        await client.inspect(signal);
        return new SubscriptionSession(client, config, deps.clock);
      } catch (error) {
        client.close();
        throw error;
      }
    },
    describe: (error) =>
      error instanceof PubsubFault
        ? error.message
        : `reading failed (${error instanceof Error ? error.name : "unknown"})`,
  };
}

class SubscriptionSession implements ReadSession<InHand> {
  readonly inHandMax = IN_HAND_MAX;
  private readonly client: PubsubClient;
  private readonly config: PubsubConfig;
  private readonly clock: Clock;
  private readonly deadlineSeconds: number;
  private readonly inHand = new Set<InHand>();
  /** Messages of one pull: fewer while an answer with more was too large. */
  private pullMax = BATCH_MAX;
  private readonly closing = new AbortController();

  constructor(client: PubsubClient, config: PubsubConfig, clock: Clock) {
    this.client = client;
    this.config = config;
    this.clock = clock;
    this.deadlineSeconds = config.ackDeadlineSeconds ?? DEADLINE_SECONDS_DEFAULT;
    void this.keepLeases();
  }

  async take(max: number, signal: AbortSignal, withinMs = Number.POSITIVE_INFINITY): Promise<Taken<InHand>[]> {
    const endMs = this.clock.nowMs() + withinMs;
    for (;;) {
      const leftMs = endMs - this.clock.nowMs();
      if (signal.aborted || leftMs <= 0) return [];
      const received = await this.pull(
        Math.min(max, this.pullMax),
        Math.max(Math.min(WAIT_MS, leftMs), WAIT_MS_MIN),
        signal,
      );
      if (received.length > 0) return await this.lease(received);
    }
  }

  /** None when `signal` fires: messages on their way then come again after the deadline of the subscription. */
  private async pull(maxMessages: number, timeoutMs: number, signal: AbortSignal): Promise<ReceivedMessage[]> {
    const { subscription } = this.client;
    try {
      const { receivedMessages } = await this.client.call("Pull", { subscription, maxMessages }, { signal, timeoutMs });
      this.pullMax = Math.min(this.pullMax * 2, BATCH_MAX);
      return receivedMessages;
    } catch (error) {
      if (signal.aborted) return [];
      if (error instanceof PubsubFault && error.code === ANSWER_TOO_LARGE && maxMessages > 1) {
        // Its messages come again when the deadline of the subscription ends.
        this.pullMax = Math.floor(maxMessages / 2);
        return [];
      }
      if (!(error instanceof PubsubFault && error.code === "PUBSUB_DEADLINE_EXCEEDED")) throw error;
      // An empty subscription and a server that is gone look alike; a question tells them apart.
      await this.client.permitted(subscription, ["pubsub.subscriptions.consume"]);
      return [];
    }
  }

  /** Those that are ours for the whole deadline, which a pull cannot ask for. */
  private async lease(received: readonly ReceivedMessage[]): Promise<Taken<InHand>[]> {
    const untilMs = this.clock.nowMs() + FIRST_LEASE_MS;
    const handles = received.map(({ ackId }): InHand => ({ ackId, untilMs }));
    for (const handle of handles) this.inHand.add(handle);
    const extending = this.extend(handles, this.deadlineSeconds);
    const container = shortName(this.client.subscription);
    const taken = received.map(
      (one, at): Taken<InHand> => ({
        letter: readDeadLetter(pubsubMessage(one, container), this.config.mapping ?? {}),
        handle: handles[at]!,
        deliveries: Math.max(one.deliveryAttempt - 1, 0),
      }),
    );
    await extending;
    return taken.filter(({ handle }) => this.inHand.has(handle));
  }

  /** A message whose lease has ended is dropped. Other failures are retried with the next beat; `assertOpen` detects a lease that ends first. */
  private async extend(handles: readonly InHand[], ackDeadlineSeconds: number): Promise<void> {
    const { subscription } = this.client;
    for (const part of parts(handles)) {
      const untilMs = this.clock.nowMs() + ackDeadlineSeconds * 1000;
      const ackIds = part.map(({ ackId }) => ackId);
      let failed: ReadonlyMap<string, string> = new Map();
      try {
        await this.client.call("ModifyAckDeadline", { subscription, ackIds, ackDeadlineSeconds });
      } catch (error) {
        failed = (error as PubsubFault).failedIds ?? failed;
        if (failed.size === 0) continue;
      }
      for (const handle of part) {
        const said = failed.get(handle.ackId);
        if (said === undefined) handle.untilMs = untilMs;
        else if (said.startsWith("PERMANENT")) this.inHand.delete(handle);
      }
    }
  }

  async acknowledge(handles: readonly InHand[]): Promise<void> {
    for (const part of parts(handles)) await this.acknowledgePart(part);
  }

  /**
   * A lease that is over cannot be acknowledged: the message comes again, the store knows its event, and it is acknowledged
   * then. Exactly-once delivery names such ids, and ids to try again; without it Pub/Sub does its best and says nothing.
   */
  private async acknowledgePart(handles: readonly InHand[]): Promise<void> {
    const { subscription } = this.client;
    let left = [...handles];
    for (let tries = 1; left.length > 0; tries++) {
      const ackIds = left.map(({ ackId }) => ackId);
      let again: InHand[] = [];
      try {
        await this.client.call("Acknowledge", { subscription, ackIds });
      } catch (error) {
        const { failedIds } = error as PubsubFault;
        if (!(error instanceof PubsubFault) || failedIds.size === 0) throw error;
        again = left.filter(({ ackId }) => failedIds.get(ackId)?.startsWith("TRANSIENT"));
        if (again.length > 0 && tries === ACKNOWLEDGE_TRIES) throw error;
      }
      for (const handle of left) if (!again.includes(handle)) this.inHand.delete(handle);
      left = again;
      if (left.length > 0) await this.clock.sleep(ACKNOWLEDGE_PAUSE_MS * 2 ** tries);
    }
  }

  /** Extends what is in hand three times as often as it ends. */
  private async keepLeases(): Promise<void> {
    const { signal } = this.closing;
    try {
      for (;;) {
        await this.clock.sleep((this.deadlineSeconds * 1000) / 3, signal);
        await this.extend([...this.inHand], this.deadlineSeconds);
      }
    } catch {
      // the session is closed
    }
  }

  /** Pub/Sub has no count of what waits, but in its monitoring. */
  async lag(): Promise<Lag> {
    return { total: null, parts: [] };
  }

  /** Pub/Sub hands a message out again whose lease is over, maybe to another worker. */
  holds(handle: InHand): boolean {
    if (handle.untilMs <= this.clock.nowMs()) this.inHand.delete(handle);
    return this.inHand.has(handle);
  }

  assertOpen(): void {
    const nowMs = this.clock.nowMs();
    for (const { untilMs } of this.inHand) {
      if (untilMs <= nowMs)
        throw new PubsubFault(
          "PUBSUB_LEASE_ENDED",
          "messages were held longer than their lease and will be redelivered",
        );
    }
  }

  async close(graceful: boolean): Promise<void> {
    this.closing.abort();
    // Without an answer they come back when their deadline ends.
    if (graceful && this.inHand.size > 0) await atMost(this.clock, HAND_BACK_MS, this.extend([...this.inHand], 0));
    this.client.close();
  }
}

function parts(handles: readonly InHand[]): InHand[][] {
  return Array.from({ length: Math.ceil(handles.length / IDS_MAX) }, (_, at) =>
    handles.slice(at * IDS_MAX, (at + 1) * IDS_MAX),
  );
}
