import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** One request to a sink, in order of arrival. */
type Arrived = {
  eventId: string;
  key: string;
  body: string;
  bytes: Buffer;
  headers: IncomingHttpHeaders;
  atMs: number;
  status: number;
};

/** The answer of the sink; `hang` never answers, `cut` breaks the connection after reading the request. */
export type Answer = number | { status: number; headers?: Record<string, string> } | "hang" | "cut";

export type Sink = {
  url: string;
  arrived: Arrived[];
  /** Requests by eventId, in order. */
  of(eventId: string): Arrived[];
  /** Effects of a sink that honours the Idempotency-Key: the distinct keys answered with 2xx. */
  effects(): string[];
  /** Decides each answer. `nth` counts this event's requests, from 1. */
  answer: (request: { eventId: string; nth: number }) => Answer | Promise<Answer>;
  /** Closes its port; connections break. */
  away(): Promise<void>;
  /** Opens the same port again. */
  back(): Promise<void>;
  stop(): Promise<void>;
};

/** A real HTTP server that stands for a consumer. Answers 200 unless the test decides otherwise. */
export async function startSink(): Promise<Sink> {
  const arrived: Arrived[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", async () => {
      if (request.method !== "POST") return response.writeHead(204).end();
      const key = String(request.headers["idempotency-key"] ?? "").replace(/^"(.*)"$/, "$1");
      const eventId = key.slice(key.indexOf(":") + 1);
      const entry: Arrived = {
        eventId,
        key,
        body: Buffer.concat(chunks).toString(),
        bytes: Buffer.concat(chunks),
        headers: request.headers,
        atMs: performance.now(),
        status: 0,
      };
      arrived.push(entry);
      const nth = arrived.filter((other) => other.eventId === eventId).length;
      const answer = await sink.answer({ eventId, nth });
      if (answer === "hang") return;
      if (answer === "cut") return response.destroy();
      const { status, headers } = typeof answer === "number" ? { status: answer, headers: undefined } : answer;
      entry.status = status;
      response.writeHead(status, headers).end();
    });
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const away = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const sink: Sink = {
    url: `http://127.0.0.1:${port}/events`,
    arrived,
    of: (eventId) => arrived.filter((entry) => entry.eventId === eventId),
    effects: () => [
      ...new Set(arrived.filter((entry) => entry.status >= 200 && entry.status < 300).map((e) => e.eventId)),
    ],
    answer: () => 200,
    away,
    back: () => listen(port),
    stop: away,
  };
  return sink;
}
