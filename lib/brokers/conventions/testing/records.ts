import { kafkaMessage } from "@/lib/brokers/kafka/message";
import type { Message } from "@/lib/brokers/message";

type Bytes = string | Uint8Array | null;

/** `int32("00000003")`: the bytes of a header as a framework writes them, in hex. */
export function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(" ", ""), "hex");
}

/** A record of a dead-letter topic. Headers in their order; text is written as UTF-8. */
export function record(
  headers: readonly [name: string, value: Bytes][],
  {
    topic = "orders.DLT",
    key = "order-7",
    value = '{"amount":-1}',
  }: { topic?: string; key?: Bytes; value?: Bytes } = {},
): Message {
  const bytes = (content: Bytes) => (content === null ? null : Buffer.from(content as string));
  return kafkaMessage(
    {
      offset: 12n,
      timestampMs: 1_700_000_500_000,
      key: bytes(key),
      value: bytes(value),
      headers: headers.map(([name, content]) => [Buffer.from(name), bytes(content)]),
    },
    { topic, topicId: "5f0c1f1e-0000-4000-8000-000000000001", partition: 2 },
  );
}
