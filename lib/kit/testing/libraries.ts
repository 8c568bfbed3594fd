import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import knex from "knex";
import type pg from "pg";
import { drizzleSession, type SqlSession } from "@/lib/kit/sql";
import { createLowRateStore } from "@/lib/platform/database/prisma";

type Transaction = (pool: pg.Pool, url: string, work: (tx: SqlSession) => Promise<unknown>) => Promise<unknown>;

/** Runs `work` in a transaction of each library: it commits, or rolls back and rejects with the error of `work`. */
export const LIBRARIES: Record<string, Transaction> = {
  pg: async (pool, _url, work) => {
    const client = await pool.connect();
    try {
      await client.query("begin");
      await work(client);
      await client.query("commit");
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  },
  Prisma: async (_pool, url, work) => {
    const store = createLowRateStore(url);
    try {
      await store.read((prisma) => prisma.$transaction((tx) => work(tx)));
    } finally {
      await store.end();
    }
  },
  Knex: async (_pool, url, work) => {
    const db = knex({ client: "pg", connection: url });
    try {
      await db.transaction((tx) => work(tx));
    } finally {
      await db.destroy();
    }
  },
  Drizzle: (pool, _url, work) => drizzle(pool).transaction((tx) => work(drizzleSession(tx, sql))),
};
