import type { LaneConnection } from "@/lib/lane/connection";
import type { LaneName } from "@/lib/lane/port";
import { startLaneWorker } from "@/lib/lane/worker";
import { systemClock } from "@/lib/platform/clock";

/**
 * A worker process that a conformance test kills while it holds a slice: it says `holding` over IPC when it has one,
 * and never lets go. Started with what it needs as one JSON argument.
 */
const settings = JSON.parse(process.argv[2]!) as { connection: LaneConnection; lane: LaneName; lockMs: number };

const silent = () => {};
await startLaneWorker({
  clock: systemClock,
  connection: settings.connection,
  lane: settings.lane,
  concurrency: 1,
  timing: { lockMs: settings.lockMs, stalledCheckMs: settings.lockMs },
  onError: silent,
  log: { info: silent, warn: silent, error: silent },
  run: (job) => {
    process.send?.({ holding: job });
    return new Promise<never>(() => {});
  },
});
