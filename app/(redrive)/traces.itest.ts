import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import * as redrives from "@/app/(redrive)/api/v1/redrives/route";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { closeTracer } from "@/lib/platform/tracing/spans";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { type OtlpCollector, type ReceivedSpan, startOtlpCollector } from "@/lib/testing/otlp-collector";
import { program } from "@/lib/testing/programs";
import { type Sink, startSink } from "@/lib/testing/sink";

const PARKED = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const CALLER = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };

let collector: OtlpCollector;
let sink: Sink;
let console: TestConsole;
let worker: ChildProcess;
/** What the worker has logged. */
let output: string;

beforeEach(async () => {
  collector = await startOtlpCollector();
  sink = await startSink();
  output = "";
});
afterEach(async () => {
  if (worker.exitCode === null && worker.signalCode === null) {
    worker.kill("SIGKILL");
    await once(worker, "exit");
  }
  await console.close();
  await sink.stop();
  await collector.stop();
});

/** The handlers of the web process here, and a worker as a process of its own; both export to `endpoint`. */
async function start(endpoint: string): Promise<void> {
  const tracing = {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20hunter2",
  };
  // The exporter itself reads its headers.
  vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", tracing.OTEL_EXPORTER_OTLP_HEADERS);
  console = await testConsole(tracing);
  await addSource(console.deps.db, "orders", { redriveUrl: sink.url });
  await console.deps.db.run("update targets set rate_per_second = null");
  worker = spawn(process.execPath, [program("worker")], {
    env: { ...process.env, ...tracing, DATABASE_URL: console.database.url, REDIS_URL: "", PARKADE_LOG_LEVEL: "info" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  worker.stdout!.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  await expect.poll(() => output.includes("worker ready")).toBe(true);
}

async function parkAndRedrive(count: number, headers: Record<string, string> = {}, name = "event"): Promise<void> {
  const parked: [string, string][] = [
    ["traceparent", `00-${PARKED.traceId}-${PARKED.spanId}-01`],
    ["tracestate", "vendor=1"],
    ["x-tenant", "eu"],
  ];
  const letters = Array.from({ length: count }, (_, n) => ({
    source: "orders",
    letter: deadLetter({
      eventId: `${name}-${n}`,
      aggregateId: `${name}-${n}`,
      headers: parked,
      traceId: PARKED.traceId,
    }),
  }));
  for (let from = 0; from < count; from += 1_000)
    await parkEvents(console.deps, letters.slice(from, from + 1_000), localViewer("tester"));
  const body = { select: { filter: { status: ["PENDING"] } }, lane: "main", reason: "stock is back" };
  const answer = await console.call(redrives.POST, { body, headers: { "idempotency-key": `"${name}"`, ...headers } });
  expect(answer.status).toBe(202);
}

const named = (name: string) => collector.spans.filter((span) => span.name === name);
const logged = () =>
  output
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const attempted = () => logged().find(({ msg }) => msg === "attempt");

describe("OpenTelemetry", () => {
  test("a collector that decodes OTLP gets one trace from the HTTP request over the job and the attempt to the publish", async () => {
    await start(collector.url);
    await parkAndRedrive(1, { traceparent: `00-${CALLER.traceId}-${CALLER.spanId}-01` });
    await expect.poll(() => sink.effects()).toEqual(["event-0"]);
    await closeTracer();
    await expect
      .poll(() => ["requestRedrive", "slice", "attempt", "publish"].map((name) => named(name).length))
      .toEqual([1, 1, 1, 1]);
    const [request, slice, attempt, publish] = ["requestRedrive", "slice", "attempt", "publish"].map(
      (name) => named(name)[0]!,
    ) as [ReceivedSpan, ReceivedSpan, ReceivedSpan, ReceivedSpan];
    const chain = [request, slice, attempt, publish];
    expect(chain.map(({ traceId }) => traceId)).toEqual(chain.map(() => CALLER.traceId));
    expect(chain.map(({ parentSpanId }) => parentSpanId)).toEqual([
      CALLER.spanId,
      request.spanId,
      slice.spanId,
      attempt.spanId,
    ]);
    expect(chain.map(({ service }) => service)).toEqual([
      "parkade-web",
      "parkade-worker",
      "parkade-worker",
      "parkade-worker",
    ]);
    // SERVER, CONSUMER, INTERNAL, PRODUCER
    expect(chain.map(({ kind }) => kind)).toEqual([2, 5, 1, 4]);
    expect(request.attributes).toMatchObject({ "http.request.method": "POST", "http.response.status_code": 202 });
    expect(attempt.attributes).toMatchObject({ "parkade.event_id": "event-0", "parkade.outcome": "delivered" });
    const parked = { ...PARKED, attributes: { "parkade.link": "parked" } };
    expect(attempt.links).toEqual([parked]);
    expect(publish.links).toEqual([parked]);
    // The message goes on in the trace of its send, and keeps what else it had.
    const { headers } = sink.of("event-0")[0]!;
    expect(headers.traceparent).toBe(`00-${CALLER.traceId}-${publish.spanId}-01`);
    expect(headers).not.toHaveProperty("tracestate");
    expect(headers["x-tenant"]).toBe("eu");
    // The log names the same ids.
    await expect.poll(attempted).toMatchObject({
      traceId: CALLER.traceId,
      spanId: attempt.spanId,
      parkedTraceId: PARKED.traceId,
      eventId: "event-0",
      redriveId: attempt.attributes["parkade.redrive_id"],
    });
    expect(collector.requests[0]).toEqual({ path: "/v1/traces", authorization: "Bearer hunter2" });

    // A failed attempt says so in its span and in that of its publish, by code and never by text.
    sink.answer = () => 422;
    await parkAndRedrive(1, {}, "refused");
    const failed = () => ["attempt", "publish"].map((name) => named(name)[1]?.failed);
    await expect.poll(failed).toEqual(["HTTP_422", "HTTP_422"]);
  });

  test("the slices of a large redrive behind its fifth have traces of their own, with a link to the request", async () => {
    await start(collector.url);
    await parkAndRedrive(450);
    await closeTracer();
    await expect.poll(() => named("publish").length).toBe(450);
    await expect.poll(() => named("slice").filter(({ links }) => links.length === 1).length).toBeGreaterThan(0);
    const [request] = named("requestRedrive");
    for (const slice of named("slice")) {
      const apart = Number(slice.attributes["parkade.slice"]) >= 5;
      expect(slice.traceId === request!.traceId).toBe(!apart);
      if (apart) expect(slice.links).toMatchObject([{ traceId: request!.traceId, spanId: request!.spanId }]);
    }
  });

  test("sends go on while the collector answers 500, the log has one line about it, and the worker stops", async () => {
    collector.answer = 500;
    await start(collector.url);
    await parkAndRedrive(40);
    await expect.poll(() => sink.effects().length).toBe(40);
    const lost = () => logged().filter(({ msg }) => msg === "spans were not delivered");
    await expect.poll(() => lost().length).toBe(1);
    expect(lost()[0]).toMatchObject({ level: "warn", collector: new URL(collector.url).host });
    worker.kill("SIGTERM");
    const [code] = await once(worker, "exit");
    expect(code).toBe(0);
    expect(lost()).toHaveLength(1);
    expect(output).not.toContain("hunter2");
  });

  test("without an address nothing is traced, and a message keeps the trace in which it was parked", async () => {
    await start("");
    await parkAndRedrive(1);
    await expect.poll(() => sink.effects()).toEqual(["event-0"]);
    const { headers } = sink.of("event-0")[0]!;
    expect(headers.traceparent).toContain(PARKED.traceId);
    expect(headers.tracestate).toBe("vendor=1");
    await expect.poll(attempted).toMatchObject({ traceId: PARKED.traceId });
    expect(collector.requests).toEqual([]);
  });
});
