import { PrismaPg } from "@prisma/adapter-pg";
import {
  isDriverAdapterError,
  type SqlDriverAdapter,
  type SqlDriverAdapterFactory,
  type SqlQueryable,
} from "@prisma/driver-adapter-utils";
import pg from "pg";
import { translate } from "@/lib/platform/database/db";
import type { Prisma, PrismaClient } from "@/lib/platform/database/generated/client";
import { retrying } from "@/lib/platform/database/retrying";
import { uuidv7 } from "@/lib/platform/ids";
import type { AuditEntry } from "@/lib/platform/plain/audit-entry.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { isConnectionLoss, PostgresPool } from "@/lib/platform/postgres-pool";

/** The access of a low-rate write: the transaction, and the audit within the same transaction. */
type LowRateTx = {
  prisma: Prisma.TransactionClient;
  audit(entry: Omit<AuditEntry, "eventIds">): Promise<void>;
};

/**
 * Prisma for rows that a person writes a few times a day: sources, targets, policies, controls, settings, views. The
 * client is loaded on first use, since a console without writes does not need the memory of the query compiler. Rejects
 * with DomainError `store-unavailable` or `read-timeout` like `Db`, else with Prisma's error.
 */
export type LowRateStore = {
  read<T>(work: (prisma: PrismaClient) => Promise<T>): Promise<T>;
  /**
   * Commits when `work` resolves, rolls back when it rejects. It runs again when the server aborted it because of another
   * transaction, so `work` must change nothing outside the store.
   */
  write<T>(work: (tx: LowRateTx) => Promise<T>): Promise<T>;
  end(): Promise<void>;
};

/** Low rate: two connections beside the pool of `db`. */
const POOL_MAX = 2;
/** Time limit for rows that a person edits one at a time. */
const STATEMENT_MS_MAX = 5_000;
/** Above the limits of the pool, so that the error comes from the pool, which knows the cause. */
const TRANSACTION = { maxWait: 10_000, timeout: 30_000 };

export function createLowRateStore(url: string): LowRateStore {
  const pool = new PostgresPool(url, {
    max: POOL_MAX,
    applicationName: "parkade-prisma",
    statementTimeoutMs: STATEMENT_MS_MAX,
  });
  let opening: Promise<{ prisma: PrismaClient; nothing: Prisma.NullableJsonNullValueInput }> | null = null;
  const open = () => {
    opening ??= import("@/lib/platform/database/generated/client").then(({ PrismaClient, Prisma }) => ({
      prisma: new PrismaClient({ adapter: adapterOn(pool), log: [] }),
      nothing: Prisma.DbNull,
    }));
    return opening;
  };
  return {
    read: async (work) => work((await open()).prisma).catch(rethrow),
    write: async (work) => {
      const { prisma, nothing } = await open();
      const run = () =>
        prisma.$transaction(
          (client) => work({ prisma: client, audit: (entry) => appendEntry(client, entry, nothing) }),
          TRANSACTION,
        );
      return retrying(() => run().catch(rethrow));
    },
    end: async () => {
      await (await opening)?.prisma.$disconnect();
      await pool.end();
    },
  };
}

async function appendEntry(
  client: Prisma.TransactionClient,
  entry: Omit<AuditEntry, "eventIds">,
  nothing: Prisma.NullableJsonNullValueInput,
): Promise<void> {
  const { atMs, action, subjectKind = action.split(".")[0]!, count = 1, before, after, ...columns } = entry;
  const id = uuidv7(atMs);
  await client.auditEntry.create({
    data: {
      ...columns,
      ...{ id, action, subjectKind, count },
      at: new Date(atMs),
      before: jsonOf(before) ?? nothing,
      after: jsonOf(after) ?? nothing,
    },
  });
  // As `appendAudit`: the entry waits for its seal.
  await client.$executeRaw`insert into audit_pending (entry_id, ref) values (${id}::uuid, ${id}::uuid)`;
}

/** The value as `pg` would send it: without undefined members. */
function jsonOf(value: unknown): Prisma.InputJsonValue | null {
  return value === undefined || value === null ? null : JSON.parse(JSON.stringify(value));
}

/** Prisma's adapter on our pool. Errors are translated here, where they certainly come from `pg`. */
function adapterOn(pool: PostgresPool): SqlDriverAdapterFactory {
  const factory = new PrismaPg(pool);
  const judged = async <T>(asking: Promise<T>, changes: boolean): Promise<T> => {
    try {
      return await asking;
    } catch (error) {
      throw judge(error, pool, changes);
    }
  };
  /** `alone`: on one connection. Once it is lost nothing waits for it again, such as a rollback. */
  const judging = <Q extends SqlQueryable>(queryable: Q, { alone }: { alone: boolean }): Q => {
    let lost: CarriedError | null = null;
    const ask = async <T>(asking: () => Promise<T>): Promise<T> => {
      if (lost) throw lost;
      try {
        return await judged(asking(), alone);
      } catch (error) {
        if (alone && error instanceof CarriedError && isConnectionLoss(error.carried.internal)) lost = error;
        throw error;
      }
    };
    const { queryRaw, executeRaw } = queryable;
    queryable.queryRaw = (query) => ask(() => queryRaw.call(queryable, query));
    queryable.executeRaw = (query) => ask(() => executeRaw.call(queryable, query));
    return queryable;
  };
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: async () => {
      const adapter: SqlDriverAdapter = judging(await factory.connect(), { alone: false });
      const { startTransaction } = adapter;
      adapter.startTransaction = async (level) =>
        judging(await judged(startTransaction.call(adapter, level), true), { alone: true });
      return adapter;
    },
  };
}

/** A DomainError on its way through Prisma, which makes an error of its own of each one that has a `code`. */
class CarriedError extends Error {
  readonly carried: DomainError;
  constructor(carried: DomainError) {
    super(carried.message);
    this.carried = carried;
  }
}

function rethrow(error: unknown): never {
  throw error instanceof CarriedError ? error.carried : error;
}

/**
 * A DomainError, carried, for the errors that callers of the store handle; else the adapter's error, which Prisma turns into its
 * own.
 */
function judge(error: unknown, pool: PostgresPool, changes: boolean): unknown {
  const original = originalOf(error);
  if (original === null) return error;
  // The adapter always gives the connection of a transaction back to the pool, even a broken one.
  if (isConnectionLoss(original)) pool.endGeneration();
  const translated = translate(original, { changes });
  return translated instanceof DomainError ? new CarriedError(translated) : error;
}

const LOST = ["DatabaseNotReachable", "ConnectionClosed", "SocketTimeout", "TlsConnectionError"];

/** The error of `pg` behind an error of the adapter; null = it did not come from `pg`. */
function originalOf(error: unknown): unknown {
  if (!isDriverAdapterError(error)) return error;
  const { originalCode, originalMessage = error.message, kind } = error.cause;
  if (originalCode !== undefined) {
    return Object.assign(new pg.DatabaseError(originalMessage, 0, "error"), { code: originalCode });
  }
  return LOST.includes(kind) ? new Error(kind) : null;
}

/** True when a unique key refused the write. */
export function isNameTaken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "P2002";
}
