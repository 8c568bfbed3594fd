import { randomBytes } from "node:crypto";
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import {
  type Arrived,
  type BrokerHarness,
  consumerOf,
  type ExactMessage,
  outbound,
} from "@/lib/brokers/broker.conformance";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { headerBytes, storedHeader } from "@/lib/brokers/message";
import { outboxAdapter } from "@/lib/brokers/outbox/adapter";
import type { OutboxConfig } from "@/lib/brokers/outbox/kind.shapes";
import type { Adapter, OutboundMessage, Publisher } from "@/lib/brokers/port";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { type TestCertificates, testCertificates } from "@/lib/testing/certificates";
import { startTcpProxy } from "@/lib/testing/tcp-proxy";
import { type EmbeddedPostgres, startPostgres } from "@/scripts/embedded-postgres";

export const never = new AbortController().signal;
export const adapter = outboxAdapter({ clock: systemClock, random: () => 0 });
export const unique = (name: string) => `${name}_${randomBytes(4).toString("hex")}`;

let dataDir: string;
let certificates: TestCertificates;
let server: EmbeddedPostgres;
export let db: pg.Pool;

async function start(): Promise<void> {
  server = await startPostgres({
    dataDir,
    ephemeral: true,
    samePort: db !== undefined,
    settings: { max_connections: "200" },
  });
  db ??= new pg.Pool({ connectionString: server.url, max: 4 });
  db.on("error", () => undefined); // restarts are part of these tests
}

/** The key must belong to the user under which the server runs. */
async function encrypt(): Promise<void> {
  const { uid, gid } = statSync(server.clusterDir);
  const { certFile, keyFile } = certificates.server;
  chownSync(keyFile, uid, gid);
  chmodSync(keyFile, 0o600);
  chmodSync(dirname(keyFile), 0o755);
  await db.query(`alter system set ssl_cert_file = '${certFile}'`);
  await db.query(`alter system set ssl_key_file = '${keyFile}'`);
  await db.query("alter system set ssl = on");
  await server.stop();
  await start();
}

export function urlFor(change: { user?: string; password?: string; port?: number; query?: string } = {}): string {
  const url = new URL(server.url);
  url.hostname = "127.0.0.1";
  if (change.user !== undefined) url.username = change.user;
  if (change.password !== undefined) url.password = change.password;
  if (change.port !== undefined) url.port = String(change.port);
  url.search = change.query ?? "";
  return url.href;
}

export function configOf(config: Record<string, unknown>): OutboxConfig {
  return parseSourceConfig("outbox", { url: urlFor(), ...config }).config as OutboxConfig;
}

/** A user of its own with these grants on the table. */
export async function userWith(grants: string[]): Promise<string> {
  const user = unique("limited");
  await db.query(`create role ${user} login password 'hunter2'`);
  for (const grant of grants) await db.query(`grant ${grant} to ${user}`);
  return user;
}

type Form = {
  payload: "bytea" | "jsonb" | "json" | "text";
  headers: "jsonb" | "text";
  id: "text" | "uuid" | "bigint";
};

export async function makeTable({ payload, headers, id }: Form): Promise<string> {
  const table = unique("outbox");
  await db.query(`create table ${table} (
    id ${id} primary key, aggregate_type text, aggregate_id varchar(40), seq bigint generated always as identity,
    event_type text, payload ${payload}, headers ${headers}, status varchar(20) not null default 'PENDING',
    attempts int not null default 0, next_attempt_at timestamptz, last_error text,
    created_at timestamptz not null default now())`);
  return table;
}

const pairs = (headers: ExactMessage["headers"]) =>
  JSON.stringify(headers.map(([name, value]) => storedHeader(name, value)));

/** What the publisher of the application does when it has tried too often. */
async function addDead(table: string, messages: ExactMessage[]): Promise<void> {
  for (const { body, headers } of messages)
    await db.query(`insert into ${table} (id, payload, headers, status, attempts) values ($1, $2, $3, 'DEAD', 7)`, [
      unique("e"),
      body,
      pairs(headers),
    ]);
}

/** Rows that are new again, as the application's publisher would send them; it then marks them as sent. */
async function arrivedRows(table: string): Promise<(ExactMessage & { id: string })[]> {
  const { rows } = await db.query<{ id: string; payload: Buffer | null; headers: string }>(
    `with sent as (update ${table} set status = 'PUBLISHED' where status = 'PENDING' returning id, payload, headers::text, seq)
     select * from sent order by seq`,
  );
  return rows.map(({ id, payload, headers }) => ({
    id,
    key: null,
    body: payload,
    headers: (JSON.parse(headers) as Parameters<typeof headerBytes>[0][]).map((header) => [
      header[0],
      headerBytes(header),
    ]),
  }));
}

/** The row of each message that is published lies there, as after its parking. */
function withRows(table: string): Adapter<OutboxConfig> {
  return {
    ...adapter,
    publisher: (config) => {
      const real = adapter.publisher(config);
      const publish: Publisher["publish"] = async (message, signal, onPhase) => {
        if (message.origin.rowId === undefined && !signal.aborted)
          await db.query(
            `insert into ${table} (id, payload, headers, status) values ($1, '', '[]', 'DEAD') on conflict do nothing`,
            [message.eventId],
          );
        return real.publish(message, signal, onPhase);
      };
      return { publish, probe: (signal) => real.probe(signal), close: () => real.close() };
    },
  };
}

export async function harness(): Promise<BrokerHarness<OutboxConfig>> {
  const proxy = await startTcpProxy(server.port);
  const table = await makeTable({ payload: "bytea", headers: "jsonb", id: "text" });
  const unpermitted = await userWith([`select on ${table}`]);
  const column = await userWith([`select (id, payload, status) on ${table}`]);
  const config = configOf({ url: urlFor({ port: proxy.port }), table, parkedStatus: "PARKED" });
  const tls = (settings: object) => configOf({ table, parkedStatus: "PARKED", tls: settings });
  const mood = unique("mood");
  await db.query(`create type ${mood} as enum ('PENDING', 'DEAD', 'FAILED')`);
  await db.query(`create table ${table}_enum (id text primary key, payload jsonb, status ${mood})`);
  return {
    adapter: withRows(table),
    config,
    refusing: { ...config, table: unique("nobody_made_it") },
    proxy,
    origin: {},
    arrived: async () =>
      (await arrivedRows(table)).map(
        ({ body, headers }): Arrived => ({
          body: body ?? Buffer.alloc(0),
          contentType: headers.find(([name]) => name === "content-type")?.[1]?.toString() ?? null,
          headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value)])),
        }),
      ),
    produce: (bodies) =>
      addDead(
        table,
        bodies.map((body) => ({ key: null, body: Buffer.from(body), headers: [] })),
      ),
    remaining: async () => {
      const { rows } = await db.query<{ n: number }>(`select count(*)::int as n from ${table} where status = 'DEAD'`);
      return rows[0]!.n;
    },
    exact: {
      carries: {
        keys: false,
        absentBody: true,
        emptyBody: true,
        binaryBody: true,
        nullHeaders: true,
        duplicateHeaders: true,
        binaryHeaders: true,
      },
      produceExact: (messages) => addDead(table, messages),
      arrivedExact: () => arrivedRows(table),
      // The row is there: its publisher gives it up again.
      bounce: async () => {
        await db.query(`update ${table} set status = 'DEAD', attempts = 3 where status = 'PUBLISHED'`);
      },
      restart: async () => {
        await server.stop("immediate");
        await start();
      },
      misconfigured: [
        ["a wrong password", { ...config, url: urlFor({ password: "hunter2" }) }, /check the user and the password/],
        ["a table that is not there", { ...config, table: "not_there" }, /table not_there does not exist/],
        [
          "a column that is not there",
          { ...config, columns: { error: "err" } },
          /has no column err: name it in columns\.error/,
        ],
        ["a column of another type", { ...config, columns: { headers: "seq" } }, /column seq .* is of type bigint/],
        [
          "no permission for a column",
          { ...config, url: urlFor({ user: column, password: "hunter2" }) },
          /may not SELECT .*last_error.* GRANT SELECT/,
        ],
        [
          "no permission to write the parked status",
          { ...config, url: urlFor({ user: unpermitted, password: "hunter2" }) },
          /may not UPDATE status of table .*: GRANT UPDATE \("status"\)/,
        ],
        ["a status that the enum lacks", { ...config, table: `${table}_enum` }, /has no value PARKED/],
        ["an open connection by accident", { ...config, url: urlFor({ query: "?sslmode=prefer" }) }, /sslmode/],
      ],
      tls: {
        good: tls({ ca: certificates.ca }),
        refused: [
          ["no authority", configOf({ url: urlFor({ query: "?sslmode=require" }), table }), /certificate|signed/],
          ["another authority", tls({ ca: certificates.otherCa }), /certificate|signed/],
          ["another name", tls({ ca: certificates.ca, servername: "elsewhere.example" }), /elsewhere\.example/],
        ],
      },
    },
    stop: async () => {
      await proxy.stop();
      await db.query(`drop table ${table}, ${table}_enum`);
    },
  };
}

export type Row = Record<string, unknown>;
export async function rowOf(table: string, id: string): Promise<Row> {
  return (await db.query<Row>(`select * from ${table} where id = $1`, [id])).rows[0]!;
}

/** Parks into a list for as long as `work` runs. */
export async function reading<T>(config: OutboxConfig, work: (parked: DeadLetter[]) => Promise<T>): Promise<T> {
  const parked: DeadLetter[] = [];
  const consumer = consumerOf(adapter, config, async (batch) => {
    parked.push(...batch);
  });
  try {
    return await work(parked);
  } finally {
    await consumer.stop();
  }
}

export function redriveOf(letter: DeadLetter, change: Partial<OutboundMessage> = {}): OutboundMessage {
  const { eventId, payload, contentType, headers, origin } = letter;
  return outbound(origin, { eventId, payload, contentType, headers, ...change });
}

/** Starts PostgreSQL for the suite at hand. */
export function onPostgres(): void {
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "parkade-outbox-"));
    chmodSync(dataDir, 0o755);
    certificates = testCertificates();
    await start();
    await encrypt();
  });
  afterAll(async () => {
    await db.end();
    await server.stop("immediate");
    certificates.remove();
    rmSync(dataDir, { recursive: true, force: true });
  });
}
