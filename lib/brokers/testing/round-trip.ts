import { consumerOf, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { Adapter, OutboundMessage, PublishReceipt } from "@/lib/brokers/port";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

const never = new AbortController().signal;

/** So many dead letters as the source reads them, as the store gives them back: headers and origin are JSON there. */
export async function parkAll<Config>(adapter: Adapter<Config>, config: Config, count: number): Promise<DeadLetter[]> {
  const parked: DeadLetter[] = [];
  const consumer = consumerOf(adapter, config, async (batch) => void parked.push(...batch));
  await eventually(() => [parked.length, consumer.state().lastError]).toEqual([count, null]);
  await consumer.stop();
  return parked.map((letter) => {
    const { headers, origin } = letter;
    return {
      ...letter,
      ...(JSON.parse(JSON.stringify({ headers, origin })) as Pick<DeadLetter, "headers" | "origin">),
    };
  });
}

/** The only dead letter that the source reads. */
export async function parkOne<Config>(adapter: Adapter<Config>, config: Config): Promise<DeadLetter> {
  return (await parkAll(adapter, config, 1))[0]!;
}

/** What a redrive sends of a letter. */
export function backOut(letter: DeadLetter, change: Partial<OutboundMessage> = {}): OutboundMessage {
  const { eventId, payload, contentType, headers, origin } = letter;
  return outbound(origin, { eventId, payload, contentType, headers, ...change });
}

/** Sends by a publisher of its own. Rejects with PublishError. */
export async function sendOne<Config>(
  adapter: Adapter<Config>,
  config: Config,
  message: OutboundMessage,
  lane?: "main" | "slow",
): Promise<PublishReceipt> {
  const [sent] = await sendAll(adapter, config, [message], lane);
  if (sent instanceof Error) throw sent;
  return sent as PublishReceipt;
}

/** Sends all at once by one publisher. Resolves with the receipt or the error of each. */
export async function sendAll<Config>(
  adapter: Adapter<Config>,
  config: Config,
  messages: readonly OutboundMessage[],
  lane?: "main" | "slow",
): Promise<unknown[]> {
  const publisher = adapter.publisher(config, lane);
  try {
    return await Promise.all(messages.map((message) => publisher.publish(message, never).catch((error) => error)));
  } finally {
    await publisher.close();
  }
}
