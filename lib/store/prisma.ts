import { PrismaPg } from "@prisma/adapter-pg";
import { DomainError } from "@/lib/core/problem";
import type { Queryable, Tx } from "@/lib/store/db";
import type { Prisma, PrismaClient } from "@/lib/store/generated/client";

/**
 * Prisma for what is written a few times a day (sources, targets, views). Its client is loaded on first use, since the
 * query compiler is memory that a console which is only looked at does not need.
 */
export type LowRateStore = {
  read<T>(work: (client: PrismaClient) => Promise<T>): Promise<T>;
  /** Work and its audit entry in one transaction: `tx` is for `appendAudit`. */
  write<T>(work: (client: Prisma.TransactionClient, tx: Tx) => Promise<T>): Promise<T>;
  end(): Promise<void>;
};

/** Low rate: two connections beside the pool of `db`. */
const POOL_MAX = 2;
/** Of rows that a person edits one at a time. A server silent for SILENCE_MS more counts as gone. */
const STATEMENT_MS_MAX = 5_000;
const SILENCE_MS = 1_000;

export function createLowRateStore(url: string): LowRateStore {
  let opening: Promise<PrismaClient> | null = null;
  const open = () => {
    opening ??= import("@/lib/store/generated/client").then(
      ({ PrismaClient }) =>
        new PrismaClient({
          adapter: new PrismaPg({
            connectionString: url,
            max: POOL_MAX,
            application_name: "parkade-prisma",
            statement_timeout: STATEMENT_MS_MAX,
            query_timeout: STATEMENT_MS_MAX + SILENCE_MS,
            keepAlive: true,
          }),
          log: [],
        }),
    );
    return opening;
  };
  return {
    read: async (work) => known(async () => work(await open())),
    write: async (work) => known(async () => (await open()).$transaction((client) => work(client, txOf(client)))),
    end: async () => {
      await (await opening)?.$disconnect();
    },
  };
}

/** The transaction of an interactive one as our own, for the few statements that belong in it. */
function txOf(client: Prisma.TransactionClient): Tx {
  const queryable: Queryable = {
    query: (text, values = []) => client.$queryRawUnsafe(text, ...values),
    run: (text, values = []) => client.$executeRawUnsafe(text, ...values),
  };
  const copyIn = () => Promise.reject(new TypeError("COPY needs a transaction of the store's own"));
  return { ...queryable, copyIn } as unknown as Tx;
}

/** Prisma's codes for a server that cannot be reached, timed out, or closed the connection. */
const UNAVAILABLE = ["P1001", "P1002", "P1008", "P1017", "P2024", "P2028"];

async function known<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    throw new DomainError("store-unavailable", "The store cannot be reached: check PostgreSQL and DATABASE_URL", {
      internal: error,
    });
  }
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : null;
}

function isUnavailable(error: unknown): boolean {
  if (error instanceof Error && error.name === "PrismaClientInitializationError") return true;
  const code = codeOf(error);
  return code !== null && (UNAVAILABLE.includes(code) || ["ECONNREFUSED", "ECONNRESET", "ENOTFOUND"].includes(code));
}

/** True for a write that met a unique key. */
export function isNameTaken(error: unknown): boolean {
  return codeOf(error) === "P2002";
}
