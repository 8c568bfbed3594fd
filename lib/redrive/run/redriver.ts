import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { GuardedBucket } from "@/lib/lane/bucket-fallback";
import type { Deps } from "@/lib/lane/deps";
import type { Db } from "@/lib/platform/database/db";
import { PACES, type Paces } from "@/lib/platform/plain/paces.pure";
import { type Attempts, createAttempts } from "@/lib/redrive/run/attempts";
import { createSessions, type Sessions } from "@/lib/redrive/run/session";
import { createSlices, type Slices } from "@/lib/redrive/run/slices";
import { TargetDirectory, type TargetDirectoryOptions } from "@/lib/redrive/targets/target-directory";
import type { HealingStep } from "@/lib/retry/healing/healing";
import { createPayloadChecker, type PayloadChecker } from "@/lib/sources/schemas/check-payload";
import { createSchemaCheck } from "@/lib/sources/schemas/schema-check";

type RedriverOptions = {
  deps: Deps;
  keyedDb: Db;
  bucket: GuardedBucket;
  openPublisher: TargetDirectoryOptions["openPublisher"];
  random: () => number;
  workerId: string;
  /** Aborts when the worker stops: nothing new is begun, items that wait are handed back. */
  stopping: AbortSignal;
  paces?: Paces;
};

/** One worker process at work on redrives: the parts that all slices which run in it share. */
export type Redriver = Deps & {
  /** The same store, for statements that name their rows by key: they are planned once a connection. */
  keyedDb: Db;
  sessions: Sessions;
  targets: TargetDirectory;
  slices: Slices;
  attempts: Attempts;
  checkPayloads: PayloadChecker;
  random: () => number;
  workerId: string;
  stopping: AbortSignal;
  paces: Paces;
  close(): Promise<void>;
};

export function createRedriver(options: RedriverOptions): Redriver {
  const { deps, keyedDb, bucket, openPublisher, random, workerId, stopping, paces = PACES } = options;
  const { db, clock, log } = deps;
  const keyed = { ...deps, db: keyedDb };
  const onHealing: TargetDirectoryOptions["onHealing"] = (target, step) => {
    auditHealing(deps, target, step).catch((error) => log.warn({ target, err: error }, "healing step not audited"));
  };
  const targets = new TargetDirectory({ db, bucket, clock, log, openPublisher, onHealing, paces });
  const schemas = createSchemaCheck(clock);
  return {
    ...deps,
    keyedDb,
    sessions: createSessions(keyed, bucket),
    targets,
    slices: createSlices(keyed, { workerId, stopping }),
    attempts: createAttempts(keyed),
    checkPayloads: createPayloadChecker(schemas, clock),
    random,
    workerId,
    stopping,
    paces,
    close: async () => {
      await Promise.all([targets.close(), schemas.close()]);
    },
  };
}

/** Audits a self-healing step: the engine lowered its pressure on a target, or went back towards normal. */
async function auditHealing({ db, clock }: Deps, target: string, step: HealingStep): Promise<void> {
  await db.transaction((tx) =>
    appendAudit(tx, {
      actor: "worker",
      action: "target.healing",
      subjectId: target,
      after: step,
      atMs: clock.wallMs(),
    }),
  );
}
