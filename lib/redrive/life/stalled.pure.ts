import { formatDuration } from "@/lib/platform/plain/format.pure";
import { isFinal, type RedriveState } from "@/lib/states/redrive-state.pure";
import type { Wait } from "@/lib/states/redrive-wait.pure";

/** The facts about a redrive that is not final, and about everything that can stop it. Times in epoch milliseconds. */
export type StallFacts = {
  state: RedriveState;
  open: number;
  /** Decided within the last 30 s, in any way. */
  decidedRecently: number;
  /** The time since which it may run; null = it has not started. */
  startedMs: number | null;
  nowMs: number;
  workersAlive: number;
  pauseReason: string | null;
  /** Stops over targets of the open items. `target` null = over everything. */
  stops: { target: string | null; by: string; reason: string }[];
  ratePerSecond: number | null;
  /** What it waits for before it starts. */
  waits: readonly Wait[];
  /** End of the hold in which the redrive can be undone and nothing is sent; null = no hold, or it is over. */
  holdUntilMs: number | null;
  /**
   * The current step of the canary, how many of its events were delivered and did not come back, and the end of the
   * wait for events that come back; null = no canary holds anything back.
   */
  canary: { released: number; sent: number; untilMs: number | null } | null;
  /** Targets of the open items that take no sends now. */
  breakers: { target: string; forced: boolean; untilMs: number | null }[];
  /** Targets of the open items that workers cannot reach, in their words. */
  away: { target: string; detail: string; forMs: number }[];
  /** All targets of the open items, including those that take no sends. */
  targets: number;
  underWay: number;
  /** Open items that wait for a time, and the earliest of these times. */
  deferred: { count: number; untilMs: number | null };
  /** An open item of another redrive that must be sent before an item of this redrive in the same aggregate. */
  blockedBy: string | null;
};

export const STALL_CODES = [
  "paused",
  "stopped",
  "approval",
  "starts-later",
  "waits-for-breaker",
  "no-worker",
  "hold",
  "target-away",
  "breaker-open",
  "canary-waits",
  "deferred",
  "blocked",
  "rate",
  "in-hand",
  "unknown",
] as const;
type StallCode = (typeof STALL_CODES)[number];

/** A wait that somebody asked for, or that ends by itself as planned, is no standstill. */
const PLANNED_WAITS: readonly StallCode[] = [
  "approval",
  "starts-later",
  "waits-for-breaker",
  "hold",
  "canary-waits",
  "rate",
  "stopped",
];

/** Whether a redrive stands still against the wish of all. A person who pauses it knows; the brake does not ask. */
export function isStandstill({
  stalled,
  brakeSeen,
}: {
  stalled: { code: StallCode } | null;
  brakeSeen: unknown;
}): boolean {
  if (stalled === null || PLANNED_WAITS.includes(stalled.code)) return false;
  return stalled.code !== "paused" || brakeSeen !== null;
}

type Stall = {
  code: StallCode;
  /** One sentence: why nothing is sent, and how to change that. */
  text: string;
  untilMs: number | null;
  /** The target that is stopped, or whose breaker is open. */
  target: string | null;
  /** The redrive that must send first. */
  redriveId: string | null;
};

/** In this time after its start a redrive need not have sent anything. */
const START_MS = 5_000;
/** A send that takes longer than this is named as the cause. */
const SLOW_MS = 10_000;

/**
 * The reason why a redrive sends nothing; null when it sends, is over, or has only just begun. Causes that a person
 * must remove come before causes that pass by themselves.
 */
export function stallOf(facts: StallFacts): Stall | null {
  if (isFinal(facts.state)) return null;
  if (facts.state === "PAUSED") return stall("paused", `${pauseWords(facts.pauseReason)}. ${afterResume(facts)}`);
  const stopped = stoppedByPerson(facts);
  if (stopped) return stopped;
  const [wait] = facts.waits;
  // A person answers a request for approval, and a time comes, whether or not a worker is alive now.
  if (wait && wait.for !== "breaker") return waitStall(wait);
  if (facts.workersAlive === 0) {
    return stall("no-worker", "No worker is alive: nothing is sent until one runs. Start a worker.");
  }
  if (wait) return waitStall(wait);
  if (facts.state !== "RUNNING" || facts.open === 0) return null;
  // Known before the last 30 s are over: a person who looks at an outage must see it.
  const closed = facts.holdUntilMs === null ? (stoppedByAway(facts) ?? stoppedByTarget(facts)) : null;
  if (closed) return closed;
  if (facts.decidedRecently > 0) return null;
  if (facts.holdUntilMs !== null) {
    return { ...stall("hold", "Held so that it can be undone; then it is sent."), untilMs: facts.holdUntilMs };
  }
  return stoppedByItems(facts) ?? stoppedBySend(facts);
}

/** What a person who resumes it will see. */
function afterResume(facts: StallFacts): string {
  const waits = facts.waits.map((wait) => WAIT_WORDS[wait.for]);
  if (waits.length > 0) return `After a resume it still waits for ${waits.join(" and ")}.`;
  const stopped = stoppedByPerson({ ...facts, state: "RUNNING" });
  return stopped ? `After a resume it still waits: ${stopped.text}` : "Resume sends the rest.";
}

function stoppedByPerson({ state, open, stops, targets, breakers }: StallFacts): Stall | null {
  const all = stops.find(({ target }) => target === null);
  const first = all ?? stops[0];
  const closed = new Set([...stops, ...breakers].map(({ target }) => target));
  // Another target may still take sends.
  if (!first || state !== "RUNNING" || open === 0 || (!all && closed.size < targets)) return null;
  return stopStall(first);
}

function stopStall({ target, by, reason }: StallFacts["stops"][number]): Stall {
  const what = target === null ? "everything" : `the sends to ${target}`;
  const text = `${by} stopped ${what}: ${reason.trim().replace(/\.$/, "")}. Resume them in the bar at the top of the page.`;
  return { ...stall("stopped", text), target };
}

const WAIT_STALLS: Record<Wait["for"], { code: StallCode; text: string }> = {
  approval: {
    code: "approval",
    text: "Waits for the approval of a second person; without an answer it expires, and its events are parked again.",
  },
  time: { code: "starts-later", text: "Starts at its scheduled time. Start it now, or cancel it." },
  breaker: {
    code: "waits-for-breaker",
    text: "Starts when the breaker of its target closes; cancelled if it does not. Start it now, or cancel it.",
  },
};

const WAIT_WORDS: Record<Wait["for"], string> = {
  approval: "the approval of a second person",
  time: "its time",
  breaker: "the breaker of its target",
};

function waitStall(wait: Wait): Stall {
  const { code, text } = WAIT_STALLS[wait.for];
  return { ...stall(code, text), untilMs: wait.untilMs };
}

function stoppedByAway({ away, breakers, targets }: StallFacts): Stall | null {
  const [first] = away;
  const closed = new Set([...away, ...breakers].map(({ target }) => target));
  // Another target may still take sends.
  if (!first || closed.size < targets) return null;
  const more = away.length > 1 ? ` (and ${away.length - 1} more)` : "";
  const text =
    `Waits for ${first.target}${more}, not reached for ${formatDuration(first.forMs)}: ${first.detail}. ` +
    "It continues when the target is back. Cancel it if you do not want to wait.";
  return { ...stall("target-away", text), target: first.target };
}

function stoppedByTarget({ breakers, targets }: StallFacts): Stall | null {
  // Another target may still take sends.
  return breakers.length < targets ? null : breakerStall(breakers);
}

function breakerStall(breakers: StallFacts["breakers"]): Stall | null {
  const [first] = breakers;
  if (!first) return null;
  const more = breakers.length > 1 ? ` (and ${breakers.length - 1} more)` : "";
  const text = first.forced
    ? `Someone holds the breaker of ${first.target}${more} open: release it on Targets.`
    : `The breaker of ${first.target}${more} is open after failures. It sends a probe automatically.`;
  return { ...stall("breaker-open", text), target: first.target, untilMs: first.untilMs };
}

function stoppedByItems(facts: StallFacts): Stall | null {
  const { deferred, canary } = facts;
  const waiting = facts.open - facts.underWay;
  if (facts.underWay === 0 && canary && canary.sent >= canary.released) {
    const count = canary.released.toLocaleString("en-US");
    const text = `The canary has sent its first ${count}. More follow once they are confirmed or do not bounce.`;
    return { ...stall("canary-waits", text), untilMs: canary.untilMs };
  }
  if (deferred.count > 0 && deferred.count >= waiting && facts.underWay === 0) {
    const what = `${deferred.count.toLocaleString("en-US")} of ${facts.open.toLocaleString("en-US")} open events wait`;
    return {
      ...stall("deferred", `${what} for a later time: their target asked for it, or an earlier attempt failed.`),
      untilMs: deferred.untilMs,
    };
  }
  if (facts.blockedBy !== null && facts.underWay === 0) {
    const text =
      "Earlier events of the same aggregates are open in another redrive: it goes first. Finish or cancel it.";
    return { ...stall("blocked", text), redriveId: facts.blockedBy };
  }
  return null;
}

function stoppedBySend(facts: StallFacts): Stall | null {
  const ranMs = facts.startedMs === null ? 0 : facts.nowMs - facts.startedMs;
  if (ranMs < START_MS) return null;
  if (facts.ratePerSecond !== null && facts.ratePerSecond < 0.1) {
    const everyS = Math.round(1 / facts.ratePerSecond);
    return stall("rate", `Its rate allows one event every ${everyS} s. Set a higher rate under Pace.`);
  }
  if (ranMs < SLOW_MS) return null;
  if (facts.underWay > 0) {
    const count = `${facts.underWay.toLocaleString("en-US")} ${facts.underWay === 1 ? "event is" : "events are"}`;
    return stall("in-hand", `${count} with a worker: waiting for a token, a retry or the target's answer.`);
  }
  // These hold a part of it, and what holds the others is not known here.
  const part = facts.stops[0] ? stopStall(facts.stops[0]) : breakerStall(facts.breakers);
  if (part) return part;
  return stall("unknown", "Nothing was sent in the last 30 s, and the cause is unknown. Check the worker's log.");
}

function pauseWords(reason: string | null): string {
  const text = (reason ?? "").trim().replace(/\.$/, "");
  if (text === "") return "Paused";
  return text[0]!.toUpperCase() + text.slice(1);
}

function stall(code: StallCode, text: string): Stall {
  return { code, text, untilMs: null, target: null, redriveId: null };
}
