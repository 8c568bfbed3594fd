import { createSocket, type RemoteInfo } from "node:dgram";
import { type LookupAddress, Resolver } from "node:dns";
import { once } from "node:events";

export type NameServer = {
  /** The names that were asked for, in order. */
  asked: string[];
  /** Looks names up at this server, as `lookup` of node:dns with `all`. */
  resolve(host: string, options: object, done: (error: Error | null, found: LookupAddress[]) => void): void;
  stop(): void;
};

/** A DNS server on 127.0.0.1 that answers each question with the IPv4 addresses that `answer` says. `nth` counts from 0. */
export async function testNameServer(answer: (name: string, nth: number) => string[]): Promise<NameServer> {
  const asked: string[] = [];
  const socket = createSocket("udp4");
  socket.on("message", (question: Buffer, from: RemoteInfo) => {
    const { name, end } = readName(question);
    const nth = asked.filter((other) => other === name).length;
    asked.push(name);
    const addresses = answer(name, nth);
    const header = Buffer.from(question.subarray(0, 12));
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(addresses.length, 6);
    header.fill(0, 8, 12);
    // The name of the question, type A, class IN, kept for 0 s, 4 bytes.
    const records = addresses.map((address) =>
      Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
    );
    socket.send(Buffer.concat([header, question.subarray(12, end + 4), ...records]), from.port, from.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const resolver = new Resolver();
  resolver.setServers([`127.0.0.1:${socket.address().port}`]);
  return {
    asked,
    resolve: (host, _, done) =>
      resolver.resolve4(host, (error, found = []) =>
        done(
          error,
          found.map((address) => ({ address, family: 4 })),
        ),
      ),
    stop: () => {
      resolver.cancel();
      socket.close();
    },
  };
}

/** The name of the first question, and the place behind it. */
function readName(question: Buffer): { name: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at]!; length !== 0; length = question[at]!) {
    labels.push(question.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}
