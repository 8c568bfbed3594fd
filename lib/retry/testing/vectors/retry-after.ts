import type { NextStep } from "@/lib/retry/call";
import { classify } from "@/lib/retry/classify/classify";
import type { Verdict } from "@/lib/retry/classify/verdict";
import { decide, hintOf } from "@/lib/retry/decide";
import { parseDelayMs, parseHttpDate, parseRetryAfter } from "@/lib/retry/retry-after";
import { BARE, httpError } from "@/lib/retry/testing/vectors/operation";
import { type Case, type Cases, type Check, eachRow, sameFor } from "@/lib/retry/testing/vectors/vector";

const NOW_MS = Date.UTC(2026, 2, 17, 17, 37, 54, 339);

const single: Case = ({ input, expect }) => {
  const nowMs = input.now ?? NOW_MS;
  const value = input.dateOffsetMs === undefined ? input.value : new Date(nowMs + input.dateOffsetMs).toUTCString();
  const hintMs = parseRetryAfter(value, nowMs);
  const checks: Check[] = [];
  if (expect.ignored) checks.push({ what: "ignored", actual: hintMs, expected: null });
  if (expect.epoch_ms !== undefined) {
    checks.push({ what: "epoch ms", actual: parseHttpDate(value, nowMs), expected: expect.epoch_ms });
  }
  if (expect.delay_ms_between) {
    const [low, high] = expect.delay_ms_between;
    checks.push({ what: "within", actual: hintMs !== null && hintMs >= low && hintMs <= high, expected: true });
  } else if (expect.delay_ms !== undefined) checks.push({ what: "delay", actual: hintMs, expected: expect.delay_ms });
  return checks;
};

/** What the policy believes of a hint that is longer than its limit. A date has a resolution of one second. */
const clamped: Case = ({ input, expect }) => {
  const value = input.value ?? new Date(NOW_MS + input.dateOffsetMs).toUTCString();
  const verdict = classify(httpError(input.status, value));
  const hint = hintOf({ verdict, policy: { ...BARE, retryAfterMsMax: input.maxMs }, wallMs: NOW_MS });
  return [{ what: "delay", actual: hint?.delayMs, expected: expect.delay_ms }];
};

/** Forms the engine may take for malformed, and does: only RFC 9110 counts. */
const strict: Case = ({ input, expect }) => [
  { what: expect.engineMay, actual: parseRetryAfter(input.value, input.now), expected: null },
];

/** What follows an attempt that failed like this, under a fixed backoff. */
function nextAfter(error: Error, ownMs = 0): { verdict: Verdict; next: NextStep } {
  const verdict = classify(error);
  const next = decide({
    policy: { ...BARE, backoff: { kind: "fixed", delayMs: ownMs, jitter: { kind: "none" } } },
    call: { idempotencyKey: "key", retryable: true },
    verdict,
    attempt: 1,
    lastAttempt: 4,
    curtailed: false,
    sameCode: 1,
    leftMs: 60_000,
    wallMs: NOW_MS,
    previousDelayMs: null,
    blocked: false,
    backoffFactor: 1,
    withdraw: () => 0,
    random: () => 0.5,
  });
  return { verdict, next };
}

function delayAfter(error: Error, ownMs: number): number | null {
  const { next } = nextAfter(error, ownMs);
  return next.kind === "retry" ? next.delayMs : null;
}

/** A pushback that forbids the repeat: the attempt has failed and nothing follows. */
const pushback: Case = ({ input }) => {
  const { verdict, next } = nextAfter(Object.assign(httpError(503), { pushback: input["grpc-retry-pushback-ms"] }));
  return [
    { what: "counts as failure", actual: verdict.kind, expected: "transient" },
    { what: "no retry", actual: next, expected: { kind: "give-up", reason: "amplified" } },
  ];
};

const pushbackDelay: Case = ({ input, expect }) => {
  const error = Object.assign(httpError(503), { pushback: input["grpc-retry-pushback-ms"] });
  return [{ what: "delay", actual: delayAfter(error, input.ownBackoffMs), expected: expect.delay_ms }];
};

/** The AWS rule up to its cut: the longer of hint and own backoff. */
const hintOrOwn: Case = (vector) =>
  eachRow({ ...vector, rows: vector.rows.slice(0, 2) }, ([ownMs, hintMs, delayMs]) => ({
    actual: delayAfter(httpError(500, null, String(hintMs)), Number(ownMs)),
    expected: delayMs,
  }));

/** Rows that name a header and what comes of it; those that are cut or given up are listed as not applicable. */
const headers =
  (rows: number[], ownMs: number): Case =>
  (vector) =>
    eachRow({ ...vector, rows: rows.map((row) => vector.rows[row]) }, ([header, , result]) => {
      const text = String(header);
      const value = text === "past date" ? new Date(NOW_MS - 60_000).toUTCString() : text;
      const error = text.endsWith(" ms") ? httpError(500, null, text.slice(0, -3)) : httpError(500, value);
      return { actual: delayAfter(error, ownMs), expected: typeof result === "number" ? result : ownMs };
    });

export const RETRY_AFTER_CASES: Cases = {
  ...sameFor(
    ["127", "128", "134", "135", "137", "139", "140", "141", "146", "147", "148"].map((n) => `retry-after-${n}`),
    single,
  ),
  ...sameFor(
    ["151", "152", "153", "156", "158", "159", "160"].map((n) => `retry-after-${n}`),
    single,
  ),
  ...sameFor(["retry-after-129", "retry-after-132"], strict),
  ...sameFor(["retry-after-136", "retry-after-142"], clamped),
  "retry-after-133": ({ input, expect }) => [
    { what: "delay", actual: parseDelayMs(input.value), expected: expect.delay_ms },
  ],
  // A success is never classified; should one be thrown, its hint makes nothing retryable of it.
  "retry-after-138": ({ input }) => [
    {
      what: "ignored",
      actual: classify({ status: input.status, retryAfter: input.value }).kind,
      expected: "permanent",
    },
  ],
  ...sameFor(["grpc-pushback-041", "grpc-pushback-042", "grpc-pushback-043"], pushback),
  "grpc-pushback-044": pushbackDelay,
  "aws-standard-016": hintOrOwn,
  "retry-after-policy-161": headers([0, 3, 4], 500),
  "retry-after-policy-162": headers([0], 1_000),
  "retry-after-policy-163": headers([0, 2], 50),
};
