import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { outbound } from "@/lib/brokers/broker.conformance";
import { checkedFetch } from "@/lib/brokers/checked-connector";
import { AccessTokens } from "@/lib/brokers/http/access-token";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { brokerRegistry } from "@/lib/brokers/registry";
import { httpTransport } from "@/lib/kit/outbox/transports/http";
import { sendAlert } from "@/lib/observe/channels/send-alert";
import { type AddressFilter, addressFilter } from "@/lib/platform/address-filter";
import { systemClock } from "@/lib/platform/clock";
import { parseNetworks } from "@/lib/platform/networks";
import { type NameServer, testNameServer } from "@/lib/testing/name-server";

/** 127.0.0.2 stands for an address inside that nobody may reach; 127.0.0.1 for the address of a receiver. */
let names: NameServer;
let heard: string[];
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let port: number;
let addresses: AddressFilter;
let addressOf: (nth: number) => string[];
let close: () => Promise<unknown>;
const never = new AbortController().signal;

beforeEach(async () => {
  heard = [];
  answer = (_, response) => response.end();
  addressOf = () => ["127.0.0.1"];
  const server = createServer((request, response) => {
    heard.push(`${request.socket.localAddress} ${request.method} ${request.url}`);
    request.resume().on("end", () => answer(request, response.setHeader("connection", "close")));
  });
  // Every address of this machine, so that a connection to 127.0.0.2 would be heard.
  await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve));
  port = (server.address() as AddressInfo).port;
  names = await testNameServer((_, nth) => addressOf(nth));
  addresses = addressFilter({ refused: parseNetworks("127.0.0.2")!, allowed: null, resolve: names.resolve });
  close = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
});
afterEach(async () => {
  names.stop();
  await close();
});

/** Everything that Parkade sends over HTTP for its users. Each rejects, or says so, when it was not taken. */
const WAYS: [what: string, send: (url: string) => Promise<unknown>][] = [
  ["a redrive", (redriveUrl) => withPublisher({ redriveUrl }, (publisher) => publisher.publish(outbound({}), never))],
  [
    "a probe",
    (redriveUrl) =>
      withPublisher({ redriveUrl }, async (publisher) => {
        const probed = await publisher.probe(never);
        if (!probed.reachable) throw new Error(probed.detail);
      }),
  ],
  [
    "a check call",
    (url) =>
      withPublisher({ redriveUrl: "http://127.0.0.1:9/", checkCall: { url } }, async ({ ownerCheck }) => {
        const event = { id: "a", revision: 1, key: "orders:a", eventType: "t", aggregateType: null, aggregateId: null };
        const given = { ...event, version: null, contentType: "application/json", payload: Buffer.from("{}") };
        const [said] = await ownerCheck!.ask([given], never);
        if ("unanswered" in said!) throw new Error(said.unanswered);
      }),
  ],
  [
    "a request for a token",
    (url) => {
      const client = { url, clientId: "parkade", clientSecret: "s3cret", method: "client_secret_basic" } as const;
      return new AccessTokens(client, { clock: systemClock, addresses }).authorization(never);
    },
  ],
  [
    "a message about an alert",
    (url) => {
      const carriers = {
        fetch: checkedFetch(addresses, 2_000),
        sign: () => ({}),
        mail: () => Promise.reject(new Error("no mail")),
        resolveAddress: (text: string) => text,
        resolveSecret: (text: string) => text,
        tokens: () => Promise.reject(new Error("no token")) as never,
      };
      const message = { type: "alert.test", alerts: [], sentence: "a test", url: "https://parkade.example.com" };
      return sendAlert(
        carriers,
        { kind: "webhook", url },
        { id: "m-1", body: Buffer.from(JSON.stringify(message)) },
        never,
      );
    },
  ],
  [
    "a confirmation",
    async (url) => {
      const transport = httpTransport({ fetch: checkedFetch(addresses, 2_000), clock: systemClock });
      const body = Buffer.from("{}");
      const message = {
        id: "m-1",
        aggregateType: "a",
        aggregateId: "a",
        type: "t",
        headers: [],
        body,
        destination: url,
      };
      const [result] = await transport.publishMany([{ ...message, key: "a" } as never], never, never);
      if (!result!.ok) throw new Error("it was not taken");
    },
  ],
];

/** What the receivers that are asked for something answer. */
const ANSWERS: Record<string, object> = {
  "a check call": { answers: [{ id: "a", take: true }] },
  "a request for a token": { access_token: "t", token_type: "Bearer" },
};

type Publisher = ReturnType<ReturnType<typeof brokerRegistry>["publisher"]>;

async function withPublisher<T>(config: object, work: (publisher: Publisher) => Promise<T>): Promise<T> {
  const secrets = { variables: {}, listed: [] };
  const registry = brokerRegistry({ clock: systemClock, random: Math.random, addresses, secrets });
  const publisher = registry.publisher(parseSourceConfig("http", config));
  try {
    return await work(publisher);
  } finally {
    await publisher.close();
  }
}

describe.each(WAYS)("%s", (what, send) => {
  test("reaches a receiver by its name", async () => {
    answer = (_, response) => response.end(JSON.stringify(ANSWERS[what] ?? {}));
    await send(`http://receiver.test:${port}/in`);
    expect(heard).toEqual([expect.stringMatching(/^(::ffff:)?127\.0\.0\.1 /)]);
  });

  test.each([301, 302, 303, 307, 308])("does not follow an answer %i", async (status) => {
    answer = (_, response) => response.writeHead(status, { location: `http://receiver.test:${port}/elsewhere` }).end();
    // A probe asks whether anybody answers, and a redirect is an answer.
    await send(`http://receiver.test:${port}/in`).catch(() => undefined);
    expect(heard).toEqual([expect.stringMatching(/ \/in$/)]);
  });

  test("connects to the address that was checked, when the name then stands for another", async () => {
    addressOf = (nth) => [nth % 2 === 0 ? "127.0.0.1" : "127.0.0.2"];
    for (let attempt = 0; attempt < 4; attempt += 1) await send(`http://rebind.test:${port}/in`).catch(() => undefined);
    expect(names.asked.length).toBeGreaterThan(1);
    expect(heard.length).toBeGreaterThan(0);
    expect(heard.filter((line) => line.includes("127.0.0.2"))).toEqual([]);
  });

  test("leaves out the refused one of several addresses, and fails when no other is left", async () => {
    answer = (_, response) => response.end(JSON.stringify(ANSWERS[what] ?? {}));
    addressOf = () => ["127.0.0.2", "127.0.0.1"];
    await send(`http://both.test:${port}/in`);
    addressOf = () => ["127.0.0.2", "127.0.0.2"];
    await expect(send(`http://inside.test:${port}/in`)).rejects.toThrow();
    expect(heard).toEqual([expect.stringMatching(/^(::ffff:)?127\.0\.0\.1 /)]);
  });

  test.each(["2130706434", "0x7f000002", "0177.0.0.2", "127.2", "[::ffff:127.0.0.2]", "127.0.0.2.", "a@127.0.0.2"])(
    "reaches nothing by another spelling of a refused address: %s",
    async (host) => {
      // Past what is checked when a configuration is saved: the text may come from a variable.
      await expect(Promise.resolve().then(() => send(`http://${host}:${port}/in`))).rejects.toThrow();
      expect(heard).toEqual([]);
    },
  );
});
