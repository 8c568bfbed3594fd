import { SignatureCounts } from "@/app/_server/intake/signed-intake";
import { identifyBy } from "@/app/_server/sign-in/identify";
import type { BrokerRegistry } from "@/lib/brokers/registry";
import { type Env, readEnv } from "@/lib/env";
import { OidcProvider } from "@/lib/guard/oidc/provider";
import { measureRoom, ROOM_EVERY_MS } from "@/lib/intake/room/measure-room";
import type { LaneConnection } from "@/lib/lane/connection";
import type { LaneQueue } from "@/lib/lane/port";
import { createLaneQueue } from "@/lib/lane/queue";
import { type ArchiveStore, openArchiveStore } from "@/lib/platform/archive/archive-store";
import { systemClock } from "@/lib/platform/clock";
import { type DatabaseClock, databaseClock } from "@/lib/platform/database/database-clock";
import { createDb, type Db } from "@/lib/platform/database/db";
import { createLowRateStore, type LowRateStore } from "@/lib/platform/database/prisma";
import { createLog, type Log } from "@/lib/platform/log";
import { type RegularWork, startRegularWork } from "@/lib/platform/regular-work";
import { ownSecret, secretFiles } from "@/lib/platform/secret-files";
import { offerTlsSuites } from "@/lib/platform/tls-suites";
import { openTracer } from "@/lib/platform/tracing/open-tracer";
import { closeTracer } from "@/lib/platform/tracing/spans";
import { trustCertificates } from "@/lib/platform/trusted-certificates";
import { ResponseCache } from "@/lib/retry/cache/response-cache";
import { PROBES_KEPT } from "@/lib/sources/probe-source";
import { createPayloadChecker, type PayloadChecker } from "@/lib/sources/schemas/check-payload";
import { createSchemaCheck, type SchemaCheck } from "@/lib/sources/schemas/schema-check";
import type { ProbeOut } from "@/lib/sources/sources.shapes";
import { READINESS_KEPT, type Readiness } from "./readiness";
import { RequestLimits } from "./request-limits";
import { SharedReads } from "./shared-reads";
import type { Identify } from "./viewer";

/** What the web process is made of. Operations and reads get the parts they need, never the environment. */
export type Deps = {
  env: Env;
  db: Db;
  /** For event lists alone: their statements keep one plan, see `genericPlans`. */
  lists: Db;
  lowRate: LowRateStore;
  /** For probes alone: the web process neither consumes nor publishes. Loads the clients on first use. */
  brokers(): Promise<BrokerRegistry>;
  lane: LaneQueue;
  /** Tries a source's JSON Schema in a thread that can be ended. */
  schemas: SchemaCheck;
  /** Holds payloads against the schemas in force, in the same thread. */
  checkPayloads: PayloadChecker;
  /** Where removed events lie; null = none is configured. */
  archive: ArchiveStore | null;
  clock: DatabaseClock;
  log: Log;
  identify: Identify;
  /** Where people sign in by OpenID Connect; null = by name and password alone. */
  oidc: OidcProvider | null;
  limits: RequestLimits;
  refusedSignatures: SignatureCounts;
  sharedReads: SharedReads;
  /** The last answers of /readyz and of probes of stored sources. */
  readiness: ResponseCache<Readiness>;
  probes: ResponseCache<ProbeOut>;
  /** Closes what it holds. */
  close(): Promise<void>;
};

/**
 * A page takes a millisecond, so a few connections serve thousands a second; and each keeps a plan of up to a megabyte for every kind of
 * filter, and those of a few days for every day, that it has seen.
 */
const LISTS_MAX = 4;
/** The plans of days that nobody asks for again go with their connection. */
const LISTS_LIFETIME_MS = 3_600_000;

// On globalThis: Next loads a route and a page as separate bundles, and in development reloads them.
const holder = globalThis as typeof globalThis & { parkadeDeps?: Deps };

/** The one set of this process, made on first use: a build imports this file and has no environment. */
export function deps(): Deps {
  holder.parkadeDeps ??= createDeps(readEnv());
  return holder.parkadeDeps;
}

/** Puts a test's own set in place; null forgets it. */
export function setDeps(next: Deps | null): void {
  holder.parkadeDeps = next ?? undefined;
}

export function createDeps(env: Env, log: Log = createLog({ level: env.logLevel, process: "web" })): Deps {
  trustCertificates(env.caFile);
  offerTlsSuites(env.tlsCiphers);
  openTracer(env.tracing, { process: "web", log, clock: systemClock });
  const store = {
    max: env.databasePool,
    statementTimeoutMs: env.statementTimeoutMs,
    chance: { clock: systemClock, random: Math.random },
    applicationName: "parkade-web",
    onIdleError: (error: Error) => log.warn({ err: error }, "an idle store connection broke"),
  };
  const db = createDb(env.databaseUrl, store);
  const lists = createDb(env.databaseUrl, {
    ...store,
    max: Math.min(LISTS_MAX, env.databasePool),
    lifetimeMs: LISTS_LIFETIME_MS,
    applicationName: "parkade-lists",
    genericPlans: "pages",
  });
  const connection: LaneConnection =
    env.redisUrl === null
      ? { kind: "postgres", connectionString: env.databaseUrl, max: 4 }
      : { kind: "redis", url: env.redisUrl };
  const lane = createLaneQueue(connection, systemClock);
  const lowRate = createLowRateStore(env.databaseUrl);
  // One registry: it knows every secret it has resolved, to take it out of whatever comes back.
  let registry: BrokerRegistry | null = null;
  const brokers = async () => {
    const { brokerRegistry } = await import("@/lib/brokers/registry");
    registry ??= brokerRegistry({
      clock: systemClock,
      random: Math.random,
      addresses: env.addresses,
      secrets: { variables: process.env, listed: env.envReferences, files: secretFiles(env.secretFiles) },
    });
    return registry;
  };
  const schemas = createSchemaCheck(systemClock);
  const measures = env.room.disk !== null || env.room.storeBytesMax !== null;
  const room: RegularWork = { name: "room", everyMs: ROOM_EVERY_MS, work: () => measureRoom(db, env.room) };
  const regular = startRegularWork(measures ? [room] : [], { clock: systemClock, log });
  const archive =
    env.archive &&
    openArchiveStore(env.archive, {
      clock: systemClock,
      keys: env.archiveKeys,
      encryptionKeys: env.archiveEncryptionKeys,
    });
  const close = async () => {
    await closeTracer();
    await regular.stop();
    await schemas.close();
    await archive?.close();
    await lane.close();
    await lowRate.end();
    await lists.end();
    await db.end();
  };
  const clock = databaseClock(systemClock, db);
  return {
    env,
    db,
    lists,
    lowRate,
    brokers,
    lane,
    schemas,
    checkPayloads: createPayloadChecker(schemas, clock),
    archive,
    clock,
    log,
    identify: identifyBy({ db, clock, env }),
    oidc:
      env.oidc &&
      new OidcProvider(env.oidc, { nowMs: () => systemClock.nowMs(), secretOf: ownSecret(env.secretFiles) }),
    limits: new RequestLimits(env.limits),
    refusedSignatures: new SignatureCounts(),
    sharedReads: new SharedReads(),
    readiness: new ResponseCache<Readiness>(READINESS_KEPT, systemClock),
    probes: new ResponseCache<ProbeOut>(PROBES_KEPT, systemClock),
    close,
  };
}
