import type { Message, MessageResult, Transport } from "@/lib/kit/outbox/message";

/** Chooses a transport for each message by its destination. One that is away does not hold up the others. */
export function routeTransport(choose: (message: Message) => Transport): Transport {
  return {
    publishMany: async (messages, signal) => {
      const results = new Map<Message, MessageResult>();
      const groups = Map.groupBy(messages, choose);
      const send = async (transport: Transport, group: Message[]) => {
        const answers = await transport
          .publishMany(group, signal)
          .catch((error: unknown) => group.map((): MessageResult => ({ ok: false, outage: true, error })));
        for (const [at, message] of group.entries()) results.set(message, answers[at]!);
      };
      await Promise.all([...groups].map(([transport, group]) => send(transport, group)));
      return messages.map((message) => results.get(message)!);
    },
  };
}
