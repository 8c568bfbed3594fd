import { createTargetState, execute } from "@/lib/retry/execute";
import { validatePolicy } from "@/lib/retry/policy";
import { manualClock, settle } from "@/lib/retry/testing/manual-clock";
import { BARE, finish, httpError } from "@/lib/retry/testing/vectors/operation";
import { type Case, type Cases, type Cell, type Check, eachRow, type Vector } from "@/lib/retry/testing/vectors/vector";

/** A server that counts requests: ALREADY_EXISTS is any retryable failure, INTERNAL any permanent one. */
async function script({ params, serverOkAtRequestIndex, serverInternalAt, rows }: Vector): Promise<[string, number][]> {
  const clock = manualClock();
  const policy = { ...BARE, maxAttempts: params.maxAttempts };
  const target = createTargetState(policy, clock);
  let request = -1;
  const attempt = async () => {
    request++;
    if (serverOkAtRequestIndex.includes(request)) return "OK";
    throw httpError(serverInternalAt.includes(request) ? 400 : 503);
  };
  const results: [string, number][] = [];
  for (let call = 0; call < rows.length; call++) {
    const options = { policy, target, clock, random: () => 0.5 };
    const outcome = await finish(clock, execute({ idempotencyKey: "key", retryable: true, attempt }, options));
    const code = outcome.kind === "ok" ? "OK" : outcome.kind === "failed" ? outcome.code : outcome.kind;
    results.push([
      ({ HTTP_400: "INTERNAL", HTTP_503: "ALREADY_EXISTS" } as Record<string, string>)[code] ?? code,
      request,
    ]);
  }
  return results;
}

type Send = { at: number; resolve: (value: string) => void; reject: (error: Error) => void; signal: AbortSignal };

/** An operation whose sends stay open until the test ends them. */
function race(delayMs: number, sendsMax: number) {
  const clock = manualClock();
  const policy = { ...BARE, maxAttempts: sendsMax, attemptTimeoutMs: 60_000, hedge: { delayMs, sendsMax } };
  const target = createTargetState(policy, clock);
  const sends: Send[] = [];
  const startMs = clock.nowMs();
  const done = execute<string>(
    {
      idempotencyKey: "key",
      retryable: true,
      attempt: ({ signal }) =>
        new Promise((resolve, reject) => sends.push({ at: clock.nowMs() - startMs, resolve, reject, signal })),
    },
    { policy, target, clock, random: () => 0.5 },
  );
  return { clock, sends, done };
}

const timeline: Case = async (vector) => {
  const { clock, sends, done } = race(vector.params.hedgingDelayMs, vector.params.maxAttempts);
  const checks: Check[] = [];
  let passedMs = 0;
  for (const [atMs, outstanding] of vector.rows as number[][]) {
    await clock.advance(atMs! - passedMs);
    passedMs = atMs!;
    checks.push({ what: `at ${atMs} ms`, actual: sends.length, expected: outstanding });
  }
  sends[0]!.resolve("ok");
  await settle();
  return [...checks, { what: "outcome", actual: (await done).kind, expected: "ok" }];
};

const rules: Case = async () => {
  const checks: Check[] = [];
  const won = race(500, 3);
  await settle();
  won.sends[0]!.reject(httpError(503));
  await won.clock.advance(0);
  checks.push({ what: "a failure sends the next at once", actual: won.sends.map(({ at }) => at), expected: [0, 0] });
  await won.clock.advance(500);
  won.sends[1]!.resolve("second");
  await settle();
  checks.push(
    {
      what: "a success wins",
      actual: await won.done.then((end) => end.kind === "ok" && end.value),
      expected: "second",
    },
    { what: "and cancels the others", actual: won.sends[2]!.signal.aborted, expected: true },
  );
  const fatal = race(500, 3);
  await fatal.clock.advance(500);
  fatal.sends[0]!.reject(httpError(400));
  await settle();
  checks.push(
    { what: "a permanent failure cancels all", actual: fatal.sends[1]!.signal.aborted, expected: true },
    { what: "and sends no more", actual: fatal.sends.length, expected: 2 },
  );
  const lost = race(500, 2);
  await lost.clock.advance(500);
  for (const send of lost.sends) send.reject(httpError(503));
  await lost.clock.advance(60_000);
  checks.push({ what: "no retry after all have failed", actual: lost.sends.length, expected: 2 });
  return checks;
};

/** Only what both engines have: an attempt count of one is legal here, and throttling is a budget. */
const validation: Case = ({ cases }) =>
  cases.flatMap((config: Record<string, Record<string, unknown>> & { ok: boolean }): Check[] => {
    const candidate = translated(config);
    if (candidate === null) return [];
    const actual = validatePolicy({ ...BARE, ...candidate }).length === 0;
    return [{ what: JSON.stringify(config), actual, expected: config.ok }];
  });

function translated({ retry, hedging }: Record<string, Record<string, unknown>>): object | null {
  const backoff = { kind: "exponential", baseMs: 100, factor: 2, capMs: 100_000, jitter: { kind: "none" } };
  const ms = (text: unknown) => (/^\d+s$/.test(String(text)) ? Number.parseInt(String(text), 10) * 1000 : text);
  if (hedging) return { hedge: { delayMs: ms(hedging.hedgingDelay), sendsMax: hedging.maxAttempts } };
  if (retry?.backoffMultiplier === -1) return { backoff: { ...backoff, factor: -1 } };
  if (retry?.initialBackoff === "123") return { backoff: { ...backoff, baseMs: "123" } };
  if (retry?.maxAttempts === 2)
    return { maxAttempts: 2, backoff: { ...backoff, baseMs: 1_000, capMs: 1_000, factor: 1 } };
  return null;
}

export const GRPC_CASES: Cases = {
  "grpc-throttle-038": async (vector) => {
    const results = await script(vector);
    return eachRow(vector, (row: Cell[], index) => ({ actual: results[index], expected: row }));
  },
  "grpc-throttle-040": validation,
  "grpc-hedge-045": timeline,
  "grpc-hedge-046": rules,
  "policy-175": (vector) =>
    eachRow(vector, ([attemptS, totalS, samplingS, valid]) => {
      const breaker = {
        trip: {
          kind: "time",
          windowMs: Number(samplingS) * 1000,
          callsMin: 1,
          failureRatio: 0.1,
          slowCallMs: null,
          slowRatio: 1,
        },
        openMs: 5_000,
        openMsMax: 5_000,
        probes: 1,
        probeMsMax: 60_000,
      };
      const times = { attemptTimeoutMs: Number(attemptS) * 1000, deadlineMs: Number(totalS) * 1000 };
      return { actual: validatePolicy({ ...BARE, ...times, maxAttempts: 1, breaker }).length === 0, expected: valid };
    }),
};
