import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import knex from "knex";
import type pg from "pg";
import { drizzleSession, type SqlSession } from "@/lib/kit/sql";
import { createLowRateStore } from "@/lib/platform/database/prisma";

type Transaction = (pool: pg.Pool, url: string, work: (tx: SqlSession) => Promise<unknown>) => Promise<unknown>;

/** Runs `work` in a transaction: it commits, or rolls back and rejects with the error of `work`. */
export async function transactionOn<T>(pool: pg.Pool, work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
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

/** Runs `work` in a transaction of each library: it commits, or rolls back and rejects with the error of `work`. */
export const LIBRARIES: Record<string, Transaction> = {
  pg: (pool, _url, work) => transactionOn(pool, work),
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
