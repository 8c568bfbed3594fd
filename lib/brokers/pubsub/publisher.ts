import { BatchedPublisher, type BatchOutcome, type PublishMany } from "@/lib/brokers/batched-publisher";
import {
  type AdapterDeps,
  type OnPhase,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishPhase,
  type PublishReceipt,
} from "@/lib/brokers/port";
import { probed } from "@/lib/brokers/probe-sample";
import { PubsubClient } from "@/lib/brokers/pubsub/client";
import { PubsubFault, words } from "@/lib/brokers/pubsub/failure";
import { type PubsubConfig, resourceName } from "@/lib/brokers/pubsub/kind.shapes";
import { originSubscriptionOf, outboundOf, type PubsubOutbound, refuse, topicOf } from "@/lib/brokers/pubsub/outbound";

/** Messages of one request at most. Pub/Sub takes a thousand, and ten megabytes. */
const BATCH_MAX = 500;
const BATCH_BYTES_MAX = 9_500_000;
const IN_FLIGHT_MAX = 8;

type Numbered = PubsubOutbound & { index: number; topic: string };
type Request = { topic: string; messages: Numbered[] };

/** Nothing was published: the answer says so. Any other failure of a request that has left leaves it open. */
const REFUSED =
  /^PUBSUB_(?:NOT_FOUND|PERMISSION_DENIED|UNAUTHENTICATED|INVALID_ARGUMENT|FAILED_PRECONDITION|RESOURCE_EXHAUSTED|UNIMPLEMENTED)$/;

/** Requests of one topic and ordering key each, in lists that are sent in order: messages of a key must not overtake each other. */
function requestsOf(messages: readonly Numbered[]): Request[][] {
  const lists = new Map<string, Request[]>();
  const sizes = new Map<Request, number>();
  for (const one of messages) {
    const key = JSON.stringify([one.topic, one.message.orderingKey]);
    const list = lists.get(key) ?? [];
    lists.set(key, list);
    const last = list.at(-1);
    const bytes = last === undefined ? 0 : sizes.get(last)!;
    if (last !== undefined && bytes + one.bytes <= BATCH_BYTES_MAX) {
      last.messages.push(one);
      sizes.set(last, bytes + one.bytes);
      continue;
    }
    const begun = { topic: one.topic, messages: [one] };
    list.push(begun);
    sizes.set(begun, one.bytes);
  }
  return [...lists.values()];
}

/** Publishes to one topic, or to the topics that messages came from, in batches. */
export class PubsubPublisher implements Publisher {
  private readonly config: PubsubConfig;
  private readonly lane: "main" | "slow";
  private readonly client: PubsubClient;
  private readonly batched: BatchedPublisher;
  /** Topics by the subscriptions that dead letters name. */
  private readonly topics = new Map<string, Promise<string>>();
  private readonly closing = new AbortController();

  constructor(config: PubsubConfig, lane: "main" | "slow", deps: AdapterDeps) {
    this.config = config;
    this.lane = lane;
    this.client = new PubsubClient(config, deps);
    this.batched = new BatchedPublisher((...given) => this.publishMany(...given), {
      batchMax: BATCH_MAX,
      inFlightMax: IN_FLIGHT_MAX,
    });
  }

  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    if (this.closing.signal.aborted) throw refuse("PUBSUB_CLOSED", "the publisher is closed");
    return await this.batched.publish(message, signal, onPhase);
  }

  private readonly publishMany: PublishMany = async (batch, signal, onPhase) => {
    const outcomes: BatchOutcome[] = [];
    const sendable: Numbered[] = [];
    await Promise.all(
      batch.map(async (message, index) => {
        try {
          const made = outboundOf(message);
          const topic =
            topicOf(message, this.config, this.lane) ?? (await this.originTopic(originSubscriptionOf(message)));
          sendable.push({ ...made, index, topic });
        } catch (error) {
          outcomes[index] = error as PublishError;
        }
      }),
    );
    sendable.sort((left, right) => left.index - right.index);
    const send = async (list: Request[]) => {
      for (const request of list) {
        const sent = await this.send(request, signal, onPhase);
        for (const [at, { index }] of request.messages.entries()) outcomes[index] = sent[at]!;
      }
    };
    await Promise.all(requestsOf(sendable).map(send));
    return outcomes;
  };

  /** One request; an outcome for each of its messages. Pub/Sub takes all or none, so that a refused one is halved. */
  private async send(
    { topic, messages }: Request,
    signal: AbortSignal,
    onPhase: (index: number, phase: PublishPhase) => void,
  ): Promise<BatchOutcome[]> {
    let left = false;
    const phase = (reached: PublishPhase) => {
      left = true;
      for (const { index } of messages) onPhase(index, reached);
    };
    try {
      const request = { topic, messages: messages.map(({ message }) => message) };
      const { messageIds } = await this.client.call("Publish", request, { signal, onPhase: phase });
      return messages.map((_, at): BatchOutcome => {
        if (messageIds[at] !== undefined) return { status: "published" };
        return new PublishError("PUBSUB_UNKNOWN", `${words(topic)}: Pub/Sub returned no id for this message`, {
          sent: "maybe",
        });
      });
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = error as PubsubFault;
      if (code === "PUBSUB_INVALID_ARGUMENT" && messages.length > 1) {
        const half = Math.ceil(messages.length / 2);
        const first = await this.send({ topic, messages: messages.slice(0, half) }, signal, onPhase);
        return [...first, ...(await this.send({ topic, messages: messages.slice(half) }, signal, onPhase))];
      }
      const sent = left && !REFUSED.test(code) ? "maybe" : "no";
      return messages.map(() => new PublishError(code, message, { sent, cause: error }));
    }
  }

  /** The topic of a subscription, which its dead letters do not name. Looked up once; a failed look-up is repeated. */
  private originTopic(subscription: string): Promise<string> {
    const known = this.topics.get(subscription);
    if (known !== undefined) return known;
    const found = this.lookUp(subscription);
    this.topics.set(subscription, found);
    found.catch(() => this.topics.delete(subscription));
    return found;
  }

  private async lookUp(subscription: string): Promise<string> {
    const fix = "set redriveTo.topic in the source's configuration";
    const what = `${words(subscription)}, in which the message died,`;
    try {
      const { topic } = await this.client.subscriptionAt(subscription, this.closing.signal);
      if (/^projects\/[^/]+\/topics\/[^/]+$/.test(topic)) return topic;
      throw refuse("PUBSUB_NO_ORIGIN_TOPIC", `the topic of ${what} is deleted: ${fix}`);
    } catch (error) {
      this.closing.signal.throwIfAborted();
      if (!(error instanceof PubsubFault)) throw error;
      const { code, message } = error;
      if (code === "PUBSUB_NOT_FOUND")
        throw refuse("PUBSUB_NO_ORIGIN_TOPIC", `${what} does not exist any more: ${fix}`);
      throw refuse(code, code === "PUBSUB_PERMISSION_DENIED" ? `${message}; or ${fix}` : message);
    }
  }

  probe(signal: AbortSignal): Promise<ProbeResult> {
    const { client, config, lane } = this;
    const set = (lane === "slow" ? config.slowLaneTopic : undefined) ?? config.redriveTo?.topic;
    return probed(signal, async () => {
      const permission = "pubsub.topics.publish";
      const topic = set === undefined ? null : resourceName(config, "topics", set);
      // Without a topic of its own: any answer shows that the server is there, and takes the credentials.
      const permitted = await client.permitted(topic ?? client.subscription, [permission], { signal });
      if (topic !== null && permitted === null) await client.call("GetTopic", { topic }, { signal });
      if (topic !== null && permitted?.length === 0) throw client.denied("Publish", { topic });
      const where = topic === null ? "" : `, ${words(topic)}`;
      return { detail: `reached ${client.address}${where}` };
    });
  }

  async close(): Promise<void> {
    this.closing.abort(refuse("PUBSUB_CLOSED", "the publisher is closed"));
    this.client.close();
  }
}
