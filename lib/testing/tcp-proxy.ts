import { createServer, connect as dial, type Server, type Socket } from "node:net";

type Direction = "toServer" | "toClient";

/** A TCP proxy in this process that simulates network failures. */
export type TcpProxy = {
  port: number;
  /** Holds back all bytes of a direction, on open and new connections, until `resume`. Both by default. */
  stall(direction?: Direction): void;
  /** Delivers the held bytes, in order, and passes bytes again. */
  resume(): void;
  /** Resets every connection (RST to both ends). Held bytes are lost. */
  cut(): void;
  /**
   * The server disappears silently: its side is closed, the client's side stays open and receives nothing more, as
   * after a pulled cable or a dropped NAT entry.
   */
  halfOpen(): void;
  /** Closes the port: connecting is refused. Open connections stay. */
  refuse(): Promise<void>;
  /** Opens the same port again. */
  accept(): Promise<void>;
  connections(): number;
  /** Bytes that reached the proxy in a direction, held back or not. */
  bytes(direction: Direction): number;
  stop(): Promise<void>;
};

type Link = { client: Socket; server: Socket; held: Record<Direction, Buffer[]>; deaf: boolean };

/** Listens on a free port of 127.0.0.1 and passes connections on to `targetPort` there. */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const links = new Set<Link>();
  const stalled: Record<Direction, boolean> = { toServer: false, toClient: false };
  const seen: Record<Direction, number> = { toServer: 0, toClient: 0 };

  const pass = (link: Link, direction: Direction, chunk: Buffer) => {
    seen[direction] += chunk.length;
    if (link.deaf) return;
    if (stalled[direction]) link.held[direction].push(chunk);
    else (direction === "toServer" ? link.server : link.client).write(chunk);
  };
  const onClient = (client: Socket) => {
    const server = dial({ port: targetPort, host: "127.0.0.1", noDelay: true });
    const link: Link = { client, server, held: { toServer: [], toClient: [] }, deaf: false };
    links.add(link);
    client.setNoDelay(true);
    client.on("data", (chunk) => pass(link, "toServer", chunk));
    server.on("data", (chunk) => pass(link, "toClient", chunk));
    // These tests cause resets on purpose; the close handlers below clean up.
    client.on("error", () => undefined);
    server.on("error", () => undefined);
    client.on("close", () => {
      links.delete(link);
      server.destroy();
    });
    server.on("close", () => {
      if (!link.deaf) client.destroy();
    });
  };

  let listener = await listen(0, onClient);
  const port = (listener.address() as { port: number }).port;

  const cut = () => {
    for (const { client, server } of links) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  };
  const refuse = () =>
    new Promise<void>((resolve) => {
      listener.close(); // its callback would wait for open connections, too
      resolve();
    });
  return {
    port,
    stall: (direction) => {
      for (const one of direction ? [direction] : (["toServer", "toClient"] as const)) stalled[one] = true;
    },
    resume: () => {
      for (const direction of ["toServer", "toClient"] as const) {
        stalled[direction] = false;
        for (const link of links)
          for (const chunk of link.held[direction].splice(0))
            (direction === "toServer" ? link.server : link.client).write(chunk);
      }
    },
    cut,
    halfOpen: () => {
      for (const link of links) {
        link.deaf = true;
        link.server.destroy();
      }
    },
    refuse,
    accept: async () => {
      listener = await listen(port, onClient);
    },
    connections: () => links.size,
    bytes: (direction) => seen[direction],
    stop: async () => {
      await refuse();
      cut();
    },
  };
}

function listen(port: number, onClient: (socket: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(onClient);
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
}
