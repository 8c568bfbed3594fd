import { createPostgresBackend, Queue } from "bullmq";
import pg from "pg";
import { describe, inject } from "vitest";
import { systemClock } from "@/lib/platform/clock";
import { testDatabase } from "@/lib/testing/postgres";
import { QUEUE_NAMES } from "./connection";
import { laneConformance } from "./lane.conformance";
import { createLaneQueue } from "./queue";

describe("lane on Postgres", () => {
  describe("the contract", () => {
    laneConformance(async () => {
      const database = await testDatabase();
      const name = new URL(database.url).pathname.slice(1);
      const connection = { kind: "postgres", connectionString: database.url } as const;
      // The first queue makes the tables that `flush` empties.
      const first = createLaneQueue(connection, systemClock);
      await first.ping();
      await first.close();
      // Connected elsewhere on the same server, so that it can shut and open this database.
      const server = new pg.Pool({ connectionString: inject("postgresUrl"), max: 1 });
      const withClient = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
        const client = new pg.Client({ connectionString: database.url });
        await client.connect();
        try {
          return await work(client);
        } finally {
          await client.end();
        }
      };
      return {
        connection,
        stealLocks: () =>
          withClient(async (client) => {
            const soon = Date.now() + 300;
            const text =
              "update bullmq.job set lock_token = 'somebody else', locked_until_ms = $1 where state = 'active'";
            await client.query(text, [soon]);
          }),
        flush: () =>
          withClient(async (client) => {
            await client.query("delete from bullmq.job");
          }),
        addRaw: async (lane, data) => {
          const queue = new Queue(
            QUEUE_NAMES[lane],
            { connection: { connectionString: database.url } },
            createPostgresBackend,
          );
          await queue.add("raw", data);
          await queue.close();
        },
        jobsKept: (lane) =>
          withClient(async (client) => {
            const text = "select count(*)::int as jobs from bullmq.job where queue = $1";
            const { rows } = await client.query<{ jobs: number }>(text, [QUEUE_NAMES[lane]]);
            return rows[0]!.jobs;
          }),
        goAway: async () => {
          await server.query(`alter database ${name} allow_connections false`);
          await server.query("select pg_terminate_backend(pid) from pg_stat_activity where datname = $1", [name]);
        },
        comeBack: async () => {
          await server.query(`alter database ${name} allow_connections true`);
        },
        close: async () => {
          await server.end();
          await database.drop();
        },
      };
    });
  });
});
