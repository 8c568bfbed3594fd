import { setImmediate as turn } from "node:timers/promises";
import type { Message, MessageResult, Transport } from "@/lib/kit/outbox/message";

/** A transport that hands each message over in a turn of its own; one that `accept` throws for has failed. */
export function sendAll(accept: (message: Message) => void): Transport {
  return {
    publishMany: async (messages) => {
      const results: MessageResult[] = [];
      for (const message of messages) {
        await turn();
        try {
          accept(message);
          results.push({ ok: true });
        } catch (error) {
          results.push({ ok: false, error });
        }
      }
      return results;
    },
  };
}
