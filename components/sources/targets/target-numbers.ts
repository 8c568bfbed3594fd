import { formatNumber, formatRate } from "@/lib/platform/plain/format.pure";
import type { TargetOut } from "@/lib/sources/sources.shapes";
import { type EngineView, latencyText } from "./engine-view";

/** The columns of a narrow screen are few: a number that has none there stands among the details instead. */
const FROM_SM = { column: "max-sm:hidden", detail: "sm:hidden" };
const FROM_LG = { column: "max-lg:hidden", detail: "lg:hidden" };

type TargetNumber = {
  name: string;
  shown: typeof FROM_SM;
  /** null = no worker has reported it. */
  text: (target: TargetOut, engine: EngineView | null) => string | null;
  warns?: (engine: EngineView) => boolean;
};

export const TARGET_NUMBERS: readonly TargetNumber[] = [
  {
    name: "rate",
    shown: FROM_SM,
    text({ ratePerSecond, sentPerSecondNow }, engine) {
      const limit = ratePerSecond === null ? "unlimited" : formatRate(ratePerSecond);
      return sentPerSecondNow === null || !engine ? limit : `${formatRate(sentPerSecondNow)} of ${limit}`;
    },
  },
  {
    name: "parallel sends",
    shown: FROM_LG,
    text({ bulkhead }, engine) {
      if (engine === null) return formatNumber(bulkhead);
      const { inUse, permits, queued } = engine.bulkhead;
      const waiting = queued > 0 ? `, ${formatNumber(queued)} queued` : "";
      return `${formatNumber(inUse)} of ${formatNumber(permits)}${waiting}`;
    },
    warns: ({ bulkhead }) => bulkhead.queued > 0,
  },
  {
    name: "retry budget",
    shown: FROM_LG,
    text: (_, engine) =>
      engine && (engine.budget.left === null ? "unlimited" : formatNumber(Math.floor(engine.budget.left))),
    warns: ({ budget }) => budget.left === 0,
  },
  {
    name: "latency p50 / p95",
    shown: FROM_LG,
    text: (_, engine) => engine && `${latencyText(engine.latency.p50Ms)} / ${latencyText(engine.latency.p95Ms)}`,
  },
];
