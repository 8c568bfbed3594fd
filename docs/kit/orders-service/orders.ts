import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Consumer, compatibilityPartitioner, type MessageToProduce, Producer } from "@platformatic/kafka";
import {
  CONFIRM_DESTINATION,
  createInbox,
  inboxTableSql,
  RedriveRefused,
  receiveRedrive,
  redisShield,
  redriveAnswer,
} from "parkade/inbox";
import {
  createOutboxPublisher,
  insertOutbox,
  kafkaTransport,
  outboxTableSql,
  parkadeTransport,
  routeTransport,
} from "parkade/outbox";
import { consumeWithRetry, createParker } from "parkade/park";
import pg from "pg";

/**
 * A service with every part of the package: an order and its event in one transaction, the event to Kafka by the outbox,
 * a consumer with an inbox that repeats what fails and then parks it, redrives by Kafka and over HTTP, and the
 * confirmation of what was redriven.
 */
const { DATABASE_URL, KAFKA, PARKADE_URL, SPOOL_DIR, PORT } = process.env as Record<string, string>;
const { REDIS_URL, REDRIVE_SECRET } = process.env;
const SOURCE = "orders";
const TOPIC = "orders";

const pool = new pg.Pool({ connectionString: DATABASE_URL });
await pool.query(`${outboxTableSql()} ${inboxTableSql()}
  create table if not exists orders (id text primary key, amount int not null);
  create table if not exists invoices (order_id text not null, amount int not null)`);

async function transaction<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

const producer = new Producer({
  clientId: "orders",
  bootstrapBrokers: [KAFKA!],
  idempotent: true,
  partitioner: compatibilityPartitioner as (message: MessageToProduce<Buffer, Buffer, Buffer, Buffer>) => number,
});
const parkade = parkadeTransport({ url: PARKADE_URL! });
const kafka = kafkaTransport(producer);
const publisher = createOutboxPublisher({
  pool,
  transport: routeTransport(({ destination }) => (destination === CONFIRM_DESTINATION ? parkade : kafka)),
  observer: {
    failed: (event) => console.error("not published", event),
    outage: (event) => console.error("receiver away", event),
  },
});

/** The fault of the consumer: it takes no orders above this amount until somebody changes it. */
let amountMax = 100;

const parker = createParker({ url: PARKADE_URL!, source: SOURCE, spoolDir: SPOOL_DIR! });
const week = 7 * 86_400_000;
const redis = REDIS_URL === undefined ? null : new (await import("ioredis")).Redis(REDIS_URL);
const shield = redis === null ? {} : { shield: redisShield({ redis, ttlMs: week, reorderingMs: week }) };
const inbox = createInbox<pg.PoolClient>({ consumer: "billing", transaction, ...shield });
const consumer = new Consumer({ groupId: "billing", clientId: "billing", bootstrapBrokers: [KAFKA!] });
const stream = await consumer.consume({ topics: [TOPIC], autocommit: false, mode: "earliest", maxWaitTime: 200 });

async function invoice(tx: pg.PoolClient, body: Buffer): Promise<void> {
  const order = JSON.parse(body.toString()) as { orderId: string; amount: number };
  if (order.amount > amountMax) throw new RangeError(`amount ${order.amount} is above ${amountMax}`);
  await tx.query("insert into invoices values ($1, $2)", [order.orderId, order.amount]);
}

async function consume(): Promise<void> {
  for await (const message of stream) {
    const headers = message.headerEntries.map(([name, value]) => [String(name), value ?? null] as const);
    const text = (name: string) => headers.find(([key]) => key === name)?.[1]?.toString();
    const aggregateId = message.key?.toString();
    const version = text("event-version");
    const consumed = await consumeWithRetry(
      {
        eventId: text("x-redrive-event-id") ?? text("event-id")!,
        aggregateType: "order",
        aggregateId,
        ...(version && { version: BigInt(version) }),
        eventType: "order.placed",
        payload: message.value,
        contentType: "application/json",
        headers,
        origin: { topic: message.topic, partition: message.partition, key: message.key?.toString("base64") },
      },
      (tx: pg.PoolClient) => invoice(tx, message.value!),
      {
        ...{ inbox, parker, confirm: true, retry: { maxAttempts: 3, attemptTimeoutMs: 5_000 } },
        ...(version && aggregateId && { version: { aggregateType: "order", aggregateId, version: BigInt(version) } }),
      },
    );
    // Neither Parkade nor the disk has it: the consumer ends, and the message comes again.
    if (consumed.status === "dropped") throw new Error(`${consumed.reason}: ${consumed.detail}`);
    await message.commit();
  }
}
const consuming = consume();

/** Redrives of an HTTP source, whose `redriveUrl` is this address and whose `signing.secret` is REDRIVE_SECRET. */
async function redriven(request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    const redrive = await receiveRedrive(request, { secrets: REDRIVE_SECRET! });
    const { status } = await inbox.process(redrive.eventId, (tx) => invoice(tx, redrive.body), { confirm: redrive });
    const answer = redriveAnswer(status);
    response.writeHead(answer.status, answer.headers).end();
  } catch (error) {
    response.writeHead(error instanceof RedriveRefused ? error.status : 500).end(String(error));
  }
}

const server = createServer(async (request, response) => {
  if (request.method === "POST" && request.url === "/redrives" && REDRIVE_SECRET !== undefined)
    return redriven(request, response);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString();
  if (request.method === "POST" && request.url === "/orders") {
    const { orderId, amount } = JSON.parse(body) as { orderId: string; amount: number };
    await transaction(async (tx) => {
      await tx.query("insert into orders values ($1, $2)", [orderId, amount]);
      await insertOutbox(tx, {
        id: orderId,
        aggregateType: "order",
        aggregateId: orderId,
        version: 1,
        eventType: "order.placed",
        destination: TOPIC,
        payload: { orderId, amount },
      });
    });
    response.writeHead(202).end();
  } else if (request.method === "PUT" && request.url === "/amount-max") {
    amountMax = Number(body);
    response.writeHead(204).end();
  } else if (request.method === "GET" && request.url === "/invoices") {
    const { rows } = await pool.query("select order_id, amount from invoices order by order_id");
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(rows));
  } else response.writeHead(404).end();
});
server.listen(Number(PORT), "127.0.0.1", () => console.log("orders is ready"));

process.once("SIGTERM", async () => {
  server.close();
  await stream.close();
  await consuming;
  await publisher.stop();
  redis?.disconnect();
  await Promise.all([parker.close(), consumer.close(), producer.close(), pool.end()]);
});
