import { beforeAll, describe, expect, test } from "vitest";
import * as report from "@/app/(sources)/api/v1/contracts/[name]/route";
import * as policy from "@/app/(sources)/api/v1/policies/[name]/route";
import * as sourceReport from "@/app/(sources)/api/v1/sources/[name]/contract/route";
import * as source from "@/app/(sources)/api/v1/sources/[name]/route";
import * as target from "@/app/(sources)/api/v1/targets/[name]/route";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { uuidv7 } from "@/lib/platform/ids";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { sourceContractReportOf } from "@/lib/sources/contracts/source-contract-reports";
import { commandLineOfFile, consoleOfFile } from "@/lib/testing/console-of-file";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { LOCAL_CALLER } from "@/lib/testing/local-caller";

const parkade = consoleOfFile();
const commandLine = commandLineOfFile();
beforeAll(() => addSource(parkade.deps.db, "orders"));

const run = (...words: string[]) => commandLine.run(...words);

type Handler = (request: Request, context: { params: Promise<{ name: string }> }) => Promise<Response>;
const call = (handler: unknown, name: string, method: string, body?: object) =>
  (handler as Handler)(
    new Request(`http://localhost/api/v1/x/${name}`, {
      method,
      headers: { "content-type": "application/json", ...LOCAL_CALLER },
      ...(body && { body: JSON.stringify(body) }),
    }),
    { params: Promise.resolve({ name }) },
  );
const change = (contract: object | null) => call(target.PATCH, "orders", "PATCH", { contract, reason: "as agreed" });

test("ends with 1 while a contract on a stored policy is broken, and with 0 once it holds", async () => {
  expect(await run("contract")).toMatchObject({ code: 0, out: "No target and no source has a contract.\n" });
  expect(await run("contract", "orders")).toMatchObject({ code: 2, said: expect.stringContaining("has no contract") });
  expect(await run("contract", "ordres")).toMatchObject({ code: 2, said: expect.stringContaining("ordres") });

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
  expect(await changed.json()).toMatchObject({
    contract: { ...promised, budgetRatio: 0.1, timeoutRatio: 0.005, criticality: "normal" },
  });

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
  // Of two repeats one has another key, and one comes 5 s after a send that may have arrived.
  await parkade.deps.db.query(
    `insert into redrive_attempts (id, redrive_id, attempt, fence, state, target, idempotency_key, opened_at)
     select event::uuid, $1, attempt, 1, state, 'orders', key, now() - make_interval(secs => ago)
       from (values ($2, 1, 'ambiguous', 'a', 9), ($2, 2, 'delivered', 'a', 4), ($3, 1, 'failed', 'b', 8), ($3, 2, 'failed', 'c', 2))
         as w (event, attempt, state, key, ago)`,
    [uuidv7(4), uuidv7(5), uuidv7(6)],
  );
  const promised = { semantics: "effectively-once", dedupWindowMs: 60_000, promisedLatencyMs: 100 };
  expect((await change({ ...promised, callerDeadlineMs: 9_000, promisedSuccess: 0.9 })).status).toBe(200);
  const answer = await call(report.GET, "orders", "GET");
  const { assertions } = (await answer.json()) as { assertions: { id: string; numbers: string; result: string }[] };
  const of = (id: string) => assertions.find((assertion) => assertion.id === id);
  expect(of("key-stability")).toMatchObject({ numbers: "other keys in 1 of 2 repeats = 0", result: "broken" });
  expect(of("no-side-effect-dup")).toMatchObject({ numbers: "sent again after 5000 ms <= 60000 ms, other keys 1" });
  expect(of("latency")).toMatchObject({ numbers: "90 ms <= 100 ms", result: "holds" });
  expect(of("queueing")).toMatchObject({ numbers: "30 ms + 90 ms <= 500 ms", result: "holds" });
  expect(of("retry-ratio")).toMatchObject({ numbers: "20 / 100 = 0.2 <= 0.1", result: "broken" });
  expect(of("success")).toMatchObject({ numbers: "1 - 0.2^4 = 0.9984 >= 0.9", result: "holds" });
});

describe("the contract of a source", () => {
  const park = (source: string, ...letters: DeadLetter[]) =>
    parkEvents(
      parkade.deps,
      letters.map((letter) => ({ source, letter })),
      localViewer("tester"),
    );
  const changeSource = (name: string, contract: object | null) =>
    call(source.PATCH, name, "PATCH", { contract, reason: "as agreed" });
  const reportOf = async (name: string) => {
    const answer = await call(sourceReport.GET, name, "GET");
    return {
      status: answer.status,
      ...((await answer.json()) as { result: string; assertions: { id: string; numbers: string; result: string }[] }),
    };
  };

  test("is checked against what is parked, what arrived and its callers, and ends with 1 while it is broken", async () => {
    const { db } = parkade.deps;
    await addSource(db, "shop");
    await addSource(db, "front");
    expect((await changeSource("shop", { callers: ["front"] })).status).toBe(200);
    await change(null);
    expect(await reportOf("orders")).toMatchObject({ status: 404 });
    expect((await reportOf("ordres")).status).toBe(404);

    // Version 8 arrived before version 7 of its aggregate.
    await park(
      "orders",
      deadLetter({ eventId: "late-1", version: 8n }),
      deadLetter({ eventId: "late-2", version: 7n }),
    );
    await db.run("update dlq_events set first_seen = first_seen + interval '30 minutes' where event_id = 'late-2'");
    const changed = await changeSource("orders", {
      dedupWindowMs: 600_000,
      callers: ["shop"],
      criticality: "critical",
    });
    expect(changed.status).toBe(200);
    expect(await changed.json()).toMatchObject({
      contract: { dedupWindowMs: 600_000, callers: ["shop"], loadMax: 0.7 },
    });
    const report = await reportOf("orders");
    expect(report).toMatchObject({ status: 200, result: "broken" });
    const of = (id: string) => report.assertions.find((assertion) => assertion.id === id);
    expect(of("dedup-window")).toMatchObject({
      numbers: expect.stringMatching(/^10 min >= 30(\.\d+)? min \(measured\)$/),
      result: "broken",
    });
    expect(of("known-days")).toMatchObject({ result: "holds" });
    // All run under one policy: two stages do not fit into the deadline of the one that calls them.
    expect(of("critical-path")).toMatchObject({
      result: "broken",
      numbers: "shop + orders = 10000 ms <= 5000 ms - 0 ms of front",
    });
    expect(of("load")).toMatchObject({ result: "holds", numbers: expect.stringContaining("/ 50 =") });

    // The path counts for who does not see the caller, and does not name it.
    const viewer = { ...localViewer("tester"), sources: ["orders"] };
    const { assertions } = await sourceContractReportOf(db, viewer, { name: "orders", nowMs: 0 });
    const path = assertions.find(({ id }) => id === "critical-path");
    expect(path).toMatchObject({
      result: "broken",
      numbers: "another source + orders = 10000 ms <= 5000 ms - 0 ms of another source",
    });

    const table = await run("contract", "orders");
    expect(table).toMatchObject({ code: 1, out: expect.stringMatching(/source orders\s+dedup-window\s+broken/) });
    expect(await run("contract", "--format", "markdown")).toMatchObject({
      code: 1,
      out: expect.stringContaining("## source orders: broken\n"),
    });

    expect((await changeSource("orders", { dedupWindowMs: 3_600_000, budgetRatio: 0.3 })).status).toBe(200);
    expect((await run("contract", "orders")).code).toBe(0);
    // How soon a parked event is resolved is not promised.
    expect((await run("contract", "orders", "--strict")).code).toBe(2);
    const entries = await db.query<{ before: object; after: object }>(
      "select before, after from audit_entries where subject_kind = 'source' order by at desc, id desc limit 1",
    );
    expect(entries[0]).toMatchObject({
      before: { contract: { callers: ["shop"] } },
      after: { contract: { callers: [] } },
    });
    expect((await changeSource("orders", null)).status).toBe(200);
    expect((await reportOf("orders")).status).toBe(404);
  });

  test("drains what is parked at the set rate", async () => {
    await addSource(parkade.deps.db, "slow");
    const [a, b] = [deadLetter({ eventId: "a" }), deadLetter({ eventId: "b" })];
    await park("slow", a, b);
    for (let repeat = 0; repeat < 9; repeat += 1) await park("slow", a, b);
    await parkade.deps.db.run("update targets set rate_per_second = 0.5 where name = 'slow'");
    await changeSource("slow", { promisedLatencyMs: 3_999 });
    expect((await reportOf("slow")).assertions.find(({ id }) => id === "drain")).toMatchObject({
      numbers: "2 / 0.5 a second = 4000 ms <= 3999 ms",
      result: "broken",
    });
    expect((await reportOf("slow")).assertions.find(({ id }) => id === "duplicate-ratio")).toMatchObject({
      numbers: "18 / 20 = 0.9 <= 0.01",
      result: "broken",
    });
  });

  test("names callers that exist, once, and not the source itself", async () => {
    const refused = await changeSource("orders", { callers: ["orders", "nobody", "shop", "shop"] });
    expect(refused.status).toBe(422);
    expect(await refused.json()).toMatchObject({
      code: "invalid-config",
      errors: [
        { field: "contract.callers[0]", detail: expect.stringContaining("itself") },
        { field: "contract.callers[1]", detail: expect.stringContaining("no source or target") },
        { field: "contract.callers[3]", detail: "shop is listed twice" },
      ],
    });
    expect((await changeSource("orders", { callers: "shop" })).status).toBe(400);
  });
});
