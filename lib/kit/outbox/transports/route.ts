import { host } from "@/lib/kit/host";
import type { Message, MessageResult, Transport } from "@/lib/kit/outbox/message";

/** Within the time that the publisher gives after it aborts, see `Transport.publishMany`. */
const GRACE_MS = 250;

/** Chooses a transport for each message by its destination. One that is away or slow does not hold up the others. */
export function routeTransport(choose: (message: Message) => Transport): Transport {
  return {
    publishMany: async (messages, signal, beginNoMore) => {
      const results = new Map<Message, MessageResult>();
      const groups = Map.groupBy(messages, choose);
      const send = async (transport: Transport, group: Message[]) => {
        const answers = await Promise.race([
          transport.publishMany(group, signal, beginNoMore),
          afterAbort(signal, GRACE_MS),
        ]).catch((error: unknown) => group.map((): MessageResult => ({ ok: false, outage: true, error })));
        for (const [at, message] of group.entries()) results.set(message, answers[at]!);
      };
      await Promise.all([...groups].map(([transport, group]) => send(transport, group)));
      return messages.map((message) => results.get(message)!);
    },
  };
}

/** Rejects `ms` after `signal` aborts: a transport of the user may know no signal. */
function afterAbort(signal: AbortSignal, ms: number): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => host.clock.timer(ms, () => reject(signal.reason)), { once: true });
  });
}
