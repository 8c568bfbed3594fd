import { stepped, WORKS, type Work } from "@/lib/keep/scenarios/testing/keep-works";
import { createLaneQueue } from "@/lib/lane/queue";
import { parseArchiveLocation } from "@/lib/platform/archive/archive-location.pure";
import { openArchiveStore } from "@/lib/platform/archive/archive-store";
import type { S3Keys } from "@/lib/platform/archive/s3-bucket";
import { systemClock } from "@/lib/platform/clock";
import { createDb } from "@/lib/platform/database/db";
import { createLog } from "@/lib/platform/log";
import { createPayloadChecker } from "@/lib/sources/schemas/check-payload";
import { createSchemaCheck } from "@/lib/sources/schemas/schema-check";

/**
 * A process that does a work of `WORKS` and is killed with -9 before a step of it that leaves something behind: by itself. It
 * ends with 0 when the work has fewer steps. Started with what it needs as one JSON argument.
 */
const { work, url, location, keys, diesBefore } = JSON.parse(process.argv[2]!) as {
  work: Work;
  url: string;
  location: string;
  keys: S3Keys | null;
  /** The number of the step, from 1. */
  diesBefore: number;
};
const clock = systemClock;
let steps = 0;
const deps = stepped(
  {
    db: createDb(url, { max: 3, applicationName: "doomed-keeper" }),
    archive: openArchiveStore(parseArchiveLocation(location), { clock, keys }),
    lane: createLaneQueue({ kind: "postgres", connectionString: url, max: 1 }, clock),
    log: createLog({ level: "silent", process: "doomed-keeper" }),
    clock,
    checkPayloads: createPayloadChecker(createSchemaCheck(clock), clock),
  },
  async ({ leaves }) => {
    if (leaves && ++steps === diesBefore) process.kill(process.pid, "SIGKILL");
  },
);
await WORKS[work](deps);
process.exit(0);
