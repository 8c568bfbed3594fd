import { classify } from "@/lib/retry/classify/classify";
import { decide, hintOf } from "@/lib/retry/decide";
import { parseDelayMs, parseHttpDate, parseRetryAfter } from "@/lib/retry/retry-after";
import { BARE, httpError } from "@/lib/retry/testing/vectors/operation";
import { type Case, type Cases, type Check, sameFor } from "@/lib/retry/testing/vectors/vector";

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
  const hintMs = hintOf({ verdict, policy: { ...BARE, retryAfterMsMax: input.maxMs }, wallMs: NOW_MS });
  return [{ what: "delay", actual: hintMs, expected: expect.delay_ms }];
};

/** Forms the engine may take for malformed, and does: only RFC 9110 counts. */
const strict: Case = ({ input, expect }) => [
  { what: expect.engineMay, actual: parseRetryAfter(input.value, input.now), expected: null },
];

/** A pushback that forbids the repeat: the attempt has failed and nothing follows. */
const pushback: Case = ({ input }) => {
  const verdict = classify(Object.assign(httpError(503), { pushback: input["grpc-retry-pushback-ms"] }));
  const next = decide({
    policy: BARE,
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
  return [
    { what: "counts as failure", actual: verdict.kind, expected: "transient" },
    { what: "no retry", actual: next, expected: { kind: "give-up", reason: "amplified" } },
  ];
};

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
};
