import { EVENT_ID_HEADER, type Transport } from "@/lib/kit/outbox/message";
import { fromPublisher } from "@/lib/kit/outbox/transports/send-each";

/** The headers of @nats-io/nats-core, by shape. */
type NatsHeaders = { append(name: string, value: string): void };

export type NatsOptions<Headers extends NatsHeaders> = {
  /** `jetstream(connection)` of @nats-io/jetstream. */
  jetstream: {
    publish(
      subject: string,
      payload: Uint8Array,
      options: { msgID: string; headers: NoInfer<Headers> },
    ): Promise<unknown>;
  };
  /** `headers` of @nats-io/transport-node. */
  headers: () => Headers;
};

/**
 * Sends to JetStream and waits for its acknowledgement. A destination is a subject. The event's id is `Nats-Msg-Id`: within
 * the stream's duplicate window a repeat is stored once. NATS carries headers as text.
 */
export function natsTransport<Headers extends NatsHeaders>({ jetstream, headers }: NatsOptions<Headers>): Transport {
  return fromPublisher((message) => {
    const sent = headers();
    sent.append(EVENT_ID_HEADER, message.id);
    for (const [name, value] of message.headers) sent.append(name, Buffer.from(value ?? []).toString("utf8"));
    return jetstream.publish(message.destination, message.body, { msgID: message.id, headers: sent });
  });
}
