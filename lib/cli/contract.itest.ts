import { afterAll, beforeAll, expect, test } from "vitest";
import * as report from "@/app/(sources)/api/v1/contracts/[name]/route";
import * as policy from "@/app/(sources)/api/v1/policies/[name]/route";
import * as target from "@/app/(sources)/api/v1/targets/[name]/route";
import { uuidv7 } from "@/lib/platform/ids";
import { testCommandLine } from "@/lib/testing/command-line";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";

let parkade: TestConsole;
let commandLine: Awaited<ReturnType<typeof testCommandLine>>;
beforeAll(async () => {
  parkade = await testConsole();
  await addSource(parkade.deps.db, "orders");
  commandLine = await testCommandLine();
});
afterAll(async () => {
  await commandLine.close();
  await parkade.close();
});

const run = (...words: string[]) => commandLine.run(...words);

type Handler = (request: Request, context: { params: Promise<{ name: string }> }) => Promise<Response>;
const call = (handler: unknown, name: string, method: string, body?: object) =>
  (handler as Handler)(
    new Request(`http://localhost/api/v1/x/${name}`, {
      method,
      headers: { "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    }),
    { params: Promise.resolve({ name }) },
  );
const change = (contract: object | null) => call(target.PATCH, "orders", "PATCH", { contract, reason: "as agreed" });

test("ends with 1 while a contract on a stored policy is broken, and with 0 once it holds", async () => {
  expect(await run("contract")).toMatchObject({ code: 0, out: "No target has a contract.\n" });
  expect(await run("contract", "orders")).toMatchObject({ code: 1, said: expect.stringContaining("has no contract") });

  // The stored policy takes longer than its callers wait.
  const body = {
    maxAttempts: 4,
    attemptTimeoutMs: 500,
    deadlineMs: 5_000,
    marginMs: 0,
    backoff: { kind: "fixed", delayMs: 100, jitter: { kind: "none" } },
    throttledBackoff: null,
    retryAfterMsMax: 0,
    budget: { kind: "unlimited" },
    breaker: null,
    phases: null,
    dynamicTimeout: null,
    hedge: null,
    healing: null,
  };
  const stored = await call(policy.PUT, "slow-lane", "PUT", { body, reason: "from before the newer fields" });
  expect(stored.status).toBe(200);
  const promised = { semantics: "at-least-once", callerDeadlineMs: 2_000, marginMs: 100 };
  const changed = await change(promised);
  expect(changed.status).toBe(200);
  expect(await changed.json()).toMatchObject({ contract: { ...promised, budgetRatio: 0.005, criticality: "normal" } });

  const table = await run("contract");
  expect(table.code).toBe(1);
  expect(table.out).toMatch(/orders\s+deadline\s+broken\s+4 x 500 ms \+ 300 ms = 2300 ms <= 2000 ms - 100 ms/);
  const markdown = await run("contract", "orders", "--format", "markdown");
  expect(markdown).toMatchObject({ code: 1, out: expect.stringContaining("## orders: broken\n\n| assertion |") });
  const json = await run("contract", "--format", "json");
  expect(JSON.parse(json.out)).toMatchObject({ items: [{ target: "orders", source: "orders", result: "broken" }] });
  expect(await run("contract", "--format", "pdf")).toMatchObject({ code: 2 });

  expect((await change({ ...promised, callerDeadlineMs: 2_400 })).status).toBe(200);
  expect((await run("contract")).code).toBe(0);
  const entries = await parkade.deps.db.query<{ after: { contract: object } }>(
    "select after from audit_entries where action = 'target.changed' order by at desc, id desc limit 1",
  );
  expect(entries[0]!.after.contract).toMatchObject({ callerDeadlineMs: 2_400 });
});

test("refuses a margin that leaves nothing of the deadline, by field and with the fix", async () => {
  const refused = await change({ callerDeadlineMs: 100, marginMs: 100 });
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({
    code: "invalid-config",
    errors: [{ field: "contract.marginMs", detail: expect.stringContaining("lower the margin") }],
  });
  expect((await change({ promisedSucess: 0.9 })).status).toBe(400);
});

test("reports what live workers have measured, over all of them", async () => {
  const engine = (counters: object, p99Ms: number) => ({
    breaker: null,
    budget: { left: 1, retryRatio: 0 },
    bulkhead: { inUse: 0, queued: 0, permits: 10 },
    latency: { p50Ms: 10, p95Ms: 20, p99Ms, samples: 50 },
    waits: { p50Ms: 1, p95Ms: 2, p99Ms: 30, samples: 50 },
    counters,
  });
  const beat = (worker: string, info: object, seen: string) =>
    parkade.deps.db.query(
      "insert into worker_heartbeats (id, started_at, info, seen_at) values ($1, now(), $2, now() - $3::interval)",
      [worker, info, seen],
    );
  const counters = { operations: 50, attempts: 60, succeeded: 48, retries: 10, timeouts: 0 };
  await beat(uuidv7(1), { running: 0, targets: { orders: engine(counters, 90) } }, "1 s");
  await beat(uuidv7(2), { running: 0, targets: { orders: engine(counters, 40) } }, "1 s");
  await beat(uuidv7(3), { running: 0, targets: { orders: engine(counters, 9_999) } }, "1 h");
  expect((await change({ promisedLatencyMs: 100, callerDeadlineMs: 9_000, promisedSuccess: 0.9 })).status).toBe(200);
  const answer = await call(report.GET, "orders", "GET");
  const { assertions } = (await answer.json()) as { assertions: { id: string; numbers: string; result: string }[] };
  const of = (id: string) => assertions.find((assertion) => assertion.id === id);
  expect(of("latency")).toMatchObject({ numbers: "90 ms <= 100 ms", result: "holds" });
  expect(of("queueing")).toMatchObject({ numbers: "30 ms + 90 ms <= 500 ms", result: "holds" });
  expect(of("retry-ratio")).toMatchObject({ numbers: "20 / 100 = 0.2 <= 0.005", result: "broken" });
  expect(of("success")).toMatchObject({ numbers: "1 - 0.2^4 = 0.9984 >= 0.9", result: "holds" });
});
