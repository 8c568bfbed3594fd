import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import * as events from "@/app/(events)/api/v1/events/route";
import * as confirm from "@/app/(redrive)/api/v1/events/confirm/route";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";

export type ParkadeServer = {
  url: string;
  console: TestConsole;
  /** Called before each request is handled; a promise that it returns holds the request. */
  before: (nth: number) => void | Promise<void>;
  requests(): number;
  /** Refuses connections and cuts open ones, on the same port until `up`. */
  down(): Promise<void>;
  up(): Promise<void>;
  /** The source (or another one that is there) takes only requests that are signed so. */
  takeSigned(signedIntake: object, of?: string): Promise<void>;
  /** Ids of the parked events of the source, in the order in which they were parked. */
  parked(): Promise<string[]>;
  stop(): Promise<void>;
};

const HANDLERS: Record<
  string,
  (request: Request, context: { params: Promise<Record<string, string>> }) => Promise<Response>
> = {
  "/api/v1/events": events.POST,
  "/api/v1/events/confirm": confirm.POST,
};

/** The real handlers of Parkade over a database of their own, behind a real port. */
export async function parkadeServer(env: Record<string, string> = {}, source = "orders"): Promise<ParkadeServer> {
  const console = await testConsole(env);
  await addSource(console.deps.db, source);
  let nth = 0;
  let port = 0;
  let server: Server | null = null;
  const up = async () => {
    server = createServer(async (incoming, response) => {
      await parkade.before(++nth);
      const request = new Request(`http://localhost${incoming.url}`, {
        method: "POST",
        headers: { ...(incoming.headers as Record<string, string>), ...LOCAL_CALLER },
        body: Readable.toWeb(incoming) as ReadableStream,
        duplex: "half",
      } as RequestInit);
      const answer = await HANDLERS[incoming.url!.split("?")[0]!]!(request, { params: Promise.resolve({}) });
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    });
    await new Promise<void>((resolve) => server!.listen(port, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
  };
  const down = () =>
    new Promise<void>((resolve) => {
      if (server === null) return resolve();
      server.close(() => resolve());
      server.closeAllConnections();
      server = null;
    });
  await up();
  const parkade: ParkadeServer = {
    url: `http://127.0.0.1:${port}`,
    console,
    before: () => undefined,
    requests: () => nth,
    down,
    up,
    takeSigned: async (signedIntake, of = source) => {
      parseSourceConfig("http", { signedIntake });
      const config = { signedIntake };
      await console.deps.db.run("update sources set kind = 'http', config = $2 where name = $1", [of, config]);
    },
    parked: async () => {
      const rows = await console.deps.db.query<{ event_id: string }>(
        "select k.event_id from event_keys k join dlq_events e on e.id = k.id order by e.id",
      );
      return rows.map((row) => row.event_id);
    },
    stop: async () => {
      await down();
      await console.close();
    },
  };
  return parkade;
}
