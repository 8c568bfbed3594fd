import { createServer, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

type Call = { method: string; url: string; headers: IncomingHttpHeaders; body: Buffer };
type Answer = { status: number; headers: OutgoingHttpHeaders; body: Buffer };

export type HttpFront = {
  endpoint: string;
  /** Called with each request in place of the server; `pass` asks the server. null = the connection ends without an answer. */
  during(meddle: (call: Call, pass: (call: Call) => Promise<Answer>) => Promise<Answer | null>): void;
  stop(): Promise<void>;
};

/** An HTTP server in front of another one that changes, replaces or loses what passes. */
export async function startHttpFront(targetPort: number): Promise<HttpFront> {
  const pass = async ({ method, url, headers, body }: Call): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const { expect: _, ...onwardHeaders } = headers;
    const options = { host: "127.0.0.1", port: targetPort, method, path: url, headers: onwardHeaders };
    const onward = request(options, async (answer) =>
      resolve({
        status: answer.statusCode!,
        headers: answer.headers,
        body: await buffer(answer),
      }),
    );
    onward.once("error", reject);
    onward.end(body);
    return promise;
  };
  let meddle: Parameters<HttpFront["during"]>[0] = (call) => pass(call);
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming);
    const call = { method: incoming.method!, url: incoming.url!, headers: incoming.headers, body };
    const answer = await meddle(call, pass);
    if (answer === null) incoming.socket.resetAndDestroy();
    else outgoing.writeHead(answer.status, answer.headers).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    during: (next) => {
      meddle = next;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
