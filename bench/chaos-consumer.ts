import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { hash64 } from "@/lib/platform/plain/hash.pure";

/** One request of a redrive as it arrived. */
export type Arrival = {
  source: string;
  eventId: string;
  redriveId: string;
  attempt: number;
  atMs: number;
  status: number | "hang";
  body: string;
};

export type ChaosConsumer = {
  url: string;
  arrivals: Arrival[];
  /** Answers every request so for a while, then as before. Resolves when it does. */
  fail(how: 500 | 503 | "hang", ms: number): Promise<void>;
  /** Called with an event that was taken and then rejected: it must be parked again, with the headers of the redrive. */
  onBounce: (arrival: Arrival) => void;
  stop(): Promise<void>;
};

/** Sources whose events it always takes: a delivery of one shows that the product works again. */
export const PULSE = "pulse";

/**
 * The system behind the redrives. What it does with an event depends on the seed, the event and how often it came:
 * mostly it takes it; some fail first, some are refused for good, some ask to wait, some are taken and come back.
 */
export async function startConsumer(seed: number): Promise<ChaosConsumer> {
  const counts = new Map<string, number>();
  let failing: 500 | 503 | "hang" | null = null;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => undefined); // a sender that was killed
    request.on("end", () => {
      if (request.method !== "POST") return response.writeHead(204).end();
      const key = String(request.headers["idempotency-key"] ?? "").replace(/^"(.*)"$/, "$1");
      const [source, eventId] = [key.slice(0, key.indexOf(":")), key.slice(key.indexOf(":") + 1)];
      const nth = (counts.get(key) ?? 0) + 1;
      counts.set(key, nth);
      const arrival: Arrival = {
        source,
        eventId,
        redriveId: String(request.headers["x-redrive-id"]),
        attempt: Number(request.headers["x-redrive-attempt"]),
        atMs: Date.now(),
        status: 200,
        body: Buffer.concat(chunks).toString(),
      };
      consumer.arrivals.push(arrival);
      const mood = Number.parseInt(hash64(`${seed} ${key} ${nth}`).slice(0, 4), 16) % 100;
      const answer = failing ?? (source === PULSE ? 200 : answerOf(mood));
      arrival.status = answer;
      if (answer === "hang") return;
      response.writeHead(answer, answer === 503 ? { "retry-after": "2" } : {}).end();
      if (answer === 200 && source !== PULSE && mood < 6) consumer.onBounce(arrival);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const consumer: ChaosConsumer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`,
    arrivals: [],
    fail: async (how, ms) => {
      failing = how;
      await sleep(ms);
      failing = null;
    },
    onBounce: () => undefined,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return consumer;
}

/** Of a number from 0 to 99. Below 6 it is taken and comes back. */
function answerOf(mood: number): 200 | 422 | 500 | 503 {
  if (mood >= 97) return 422;
  if (mood >= 94) return 503;
  return mood >= 90 ? 500 : 200;
}
