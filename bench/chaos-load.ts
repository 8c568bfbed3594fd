import { setTimeout as sleep } from "node:timers/promises";
import type { Arrival, ChaosConsumer } from "./chaos-consumer.ts";
import type { Random } from "./random.ts";

/** An event that the API acknowledged. */
export type Acked = {
  source: string;
  eventId: string;
  aggregateType: string;
  aggregateId: string;
  version: number;
  ackedMs: number;
};

/** A stop by a person, and when its answer came: after it at most `underWay` sends may arrive. */
export type Stop = {
  kind: "cancel" | "pause" | "ignore";
  redriveId: string | null;
  eventIds: Set<string>;
  fromMs: number;
  untilMs: number;
  underWay: number;
};

export type ChaosLoad = {
  acked: Map<string, Acked>;
  confirmed: Set<string>;
  stops: Stop[];
  /** Counts of requests by their results. */
  counts: Record<string, number>;
  /** Answers of 5xx that are no 503: each is a fault of the product. */
  faults: string[];
  run(signal: AbortSignal): Promise<void>;
  /** Parks and redrives one event of a source that nothing else uses. Resolves when it arrives; null = not in time. */
  pulse(timeoutMs: number): Promise<number | null>;
  /** Waits for the last bounces; from then on none is parked again. */
  settle(): Promise<void>;
  resume(redriveId: string): Promise<void>;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
};

type Answer = { status: number; body: unknown };

export const SOURCES = ["orders", "billing"];
const TYPES = ["Order", "Customer"];
const CODES = ["TIMEOUT", "UPSTREAM_5XX", "VALIDATION_ERROR"];
const AGGREGATES = 40;

const REQUEST_TIMEOUT_MS = 8_000;
/** A client asks again until it is answered; the product may be away for as long as a fault and its recovery take. */
const RETRY_MS = 400;
const RETRIES_MAX = 150;

/** People and producers at work: parks, redrives, bounces, confirmations, controls, all over HTTP, all retried. */
export function startLoad(url: string, consumer: ChaosConsumer, random: Random): ChaosLoad {
  const acked = new Map<string, Acked>();
  const confirmed = new Set<string>();
  const stops: Stop[] = [];
  const counts: Record<string, number> = {};
  const faults: string[] = [];
  const versions = new Map<string, number>();
  const live: string[] = [];
  const ignored: string[] = [];
  const changing = new Set<string>();
  let made = 0;
  let over = false;

  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    for (let tries = 0; ; tries++) {
      try {
        const response = await fetch(url + path, {
          method,
          headers: { "content-type": "application/json", "x-actor": "ada", ...headers },
          body: body === undefined ? undefined : JSON.stringify(body),
          signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
        });
        const answer = { status: response.status, body: await response.json().catch(() => null) };
        if (response.status >= 500 && response.status !== 503) {
          faults.push(`${method} ${path}: ${response.status} ${JSON.stringify(answer.body).slice(0, 300)}`);
        }
        if (response.status < 500) return answer;
      } catch {
        // The web process or the connection is away: an answer may be lost, the key makes the repeat safe.
      }
      if (tries > RETRIES_MAX) throw new Error(`${method} ${path} was not answered ${RETRIES_MAX} times`);
      await sleep(RETRY_MS);
    }
  }

  function count(what: string): void {
    counts[what] = (counts[what] ?? 0) + 1;
  }

  async function park(): Promise<void> {
    const events = Array.from({ length: random.whole(1, 25) }, () => {
      const source = random.pick(SOURCES);
      const aggregateType = random.pick(TYPES);
      // The same ids under two types and in two sources: they are different aggregates.
      const aggregateId = String(random.whole(1, AGGREGATES));
      const key = `${source} ${aggregateType} ${aggregateId}`;
      const version = (versions.get(key) ?? 0) + 1;
      versions.set(key, version);
      const eventId = `${aggregateType}-${aggregateId}-v${version}`;
      return {
        source,
        eventId,
        aggregateType,
        aggregateId,
        version,
        errorCode: random.pick(CODES),
        payload: { version },
      };
    });
    const { status, body } = await call("POST", "/api/v1/events", events);
    const { rejected } = body as { rejected: unknown[] };
    if (status !== 202 || rejected.length > 0) throw new Error(`parking was refused: ${JSON.stringify(body)}`);
    const ackedMs = Date.now();
    for (const { payload: _, errorCode: __, ...event } of events) {
      acked.set(`${event.source}:${event.eventId}`, { ...event, ackedMs });
    }
    count("parked");
  }

  /** The consumer rejected what it had taken: its queue hands it back with the headers of the redrive. */
  async function parkAgain(arrival: Arrival): Promise<void> {
    const known = acked.get(`${arrival.source}:${arrival.eventId}`);
    if (!known || over) return;
    const { ackedMs: _, ...event } = known;
    await call("POST", "/api/v1/events", {
      ...event,
      errorCode: "VALIDATION_ERROR",
      payload: { version: known.version },
      headers: [
        ["x-redrive-id", arrival.redriveId],
        ["x-redrive-attempt", String(arrival.attempt)],
      ],
    });
    count("bounced");
  }
  const bouncing = new Set<Promise<void>>();
  consumer.onBounce = (arrival) => {
    const one = parkAgain(arrival).catch((error) => void faults.push(String(error)));
    bouncing.add(one);
    void one.finally(() => bouncing.delete(one));
  };

  async function redrive(): Promise<void> {
    const filter = random.pick([
      { source: random.pick(SOURCES) },
      { errorCode: random.pick(CODES) },
      { aggregateId: String(random.whole(1, AGGREGATES)) },
      { source: random.pick(SOURCES), status: "PENDING" },
    ]);
    const request = {
      select: { filter },
      mode: random.next() < 0.1 ? "verify" : "deliver",
      lane: random.pick(["main", "main", "slow"]),
      ratePerSecond: random.pick([null, 20, 60]),
      ...(random.next() < 0.3 ? { canary: { steps: [1, 10], quietMs: 1_000 } } : {}),
      earlier: random.pick(["hold", "hold", "include"]),
      ...(random.next() < 0.1 ? { holdMs: 2_000 } : {}),
      reason: "chaos",
    };
    const { status, body } = await call("POST", "/api/v1/redrives", request, { "idempotency-key": `chaos-${made++}` });
    if (status === 202) {
      live.push((body as { id: string }).id);
      count("redrives");
    } else count(`redrive ${(body as { code: string }).code}`);
  }

  async function change(action: "pause" | "resume" | "cancel"): Promise<void> {
    const id = live[live.length - 1 - random.whole(0, 5)];
    // One change of a redrive at a time: of two whose answers cross, nobody can say which one holds.
    if (id === undefined || changing.has(id)) return;
    changing.add(id);
    await changeOne(id, action).finally(() => changing.delete(id));
  }

  async function changeOne(id: string, action: "pause" | "resume" | "cancel"): Promise<void> {
    if (action === "resume") resumed(id);
    const { status, body } = await call("PATCH", `/api/v1/redrives/${id}`, { action, reason: "chaos" });
    if (status !== 200) return count(`${action} refused`);
    const nowMs = Date.now();
    if (action !== "resume") stops.push(stopOf(action, id, [], nowMs, body));
    count(action);
  }

  /** A paused redrive may send again from the moment of the request to resume it. */
  function resumed(id: string): void {
    for (const stop of stops) {
      if (stop.redriveId === id && stop.kind === "pause") stop.untilMs = Math.min(stop.untilMs, Date.now());
    }
  }

  function stopOf(kind: Stop["kind"], redriveId: string | null, ids: string[], fromMs: number, body: unknown): Stop {
    const underWay = (body as { underWay?: number }).underWay ?? 0;
    return { kind, redriveId, eventIds: new Set(ids), fromMs, untilMs: Number.POSITIVE_INFINITY, underWay };
  }

  async function ignore(): Promise<void> {
    const source = random.pick(SOURCES);
    const { body } = await call("GET", `/api/v1/events?source=${source}&status=PENDING&status=QUEUED&limit=5`);
    const items = (body as { items: { id: string; eventId: string; source: string }[] }).items;
    const ids = items.slice(0, 2).map((item) => item.id);
    if (ids.length === 0) return;
    const answer = await call("POST", "/api/v1/events/ignore", { select: { ids }, reason: "chaos" });
    if (answer.status !== 202) return;
    const keys = items.slice(0, 2).map((item) => `${item.source}:${item.eventId}`);
    const { changed } = answer.body as { changed: number };
    if (changed === ids.length) stops.push(stopOf("ignore", null, keys, Date.now(), answer.body));
    ignored.push(...ids);
    count("ignored");
  }

  async function release(): Promise<void> {
    const ids = ignored.splice(0, 10);
    if (ids.length === 0) return;
    const { body } = await call("GET", `/api/v1/events?status=IGNORED&limit=500`);
    const keys = new Map(
      (body as { items: { id: string; eventId: string; source: string }[] }).items.map((item) => [
        item.id,
        `${item.source}:${item.eventId}`,
      ]),
    );
    const beforeMs = Date.now();
    for (const stop of stops) {
      if (stop.kind === "ignore" && ids.some((id) => stop.eventIds.has(keys.get(id) ?? ""))) {
        stop.untilMs = Math.min(stop.untilMs, beforeMs);
      }
    }
    await call("POST", "/api/v1/events/release", { select: { ids }, reason: "chaos" });
    count("released");
  }

  async function control(): Promise<void> {
    const scope = {
      aggregateId: String(random.whole(1, AGGREGATES)),
      aggregateType: random.pick(TYPES),
      source: random.pick(SOURCES),
    };
    const expiresAt = new Date(Date.now() + random.whole(2_000, 8_000)).toISOString();
    const kind = random.pick(["blacklist", "cooldown", "whitelist"]);
    await call(
      "POST",
      "/api/v1/controls",
      { kind, scope, reason: "chaos", expiresAt },
      { "idempotency-key": `c-${made++}` },
    );
    count("controls");
  }

  async function confirm(): Promise<void> {
    const taken = consumer.arrivals
      .slice(-60)
      .filter((arrival) => arrival.status === 200 && SOURCES.includes(arrival.source));
    const source = random.pick(SOURCES);
    const eventIds = [...new Set(taken.filter((one) => one.source === source).map((one) => one.eventId))].slice(0, 20);
    if (eventIds.length === 0) return;
    for (const eventId of eventIds) confirmed.add(`${source}:${eventId}`);
    await call("POST", "/api/v1/events/confirm", { source, eventIds });
    count("confirmed");
  }

  const ACTIONS: [weight: number, act: () => Promise<void>][] = [
    [40, park],
    [18, redrive],
    [8, confirm],
    [4, ignore],
    [4, release],
    [5, control],
    [5, () => change("pause")],
    [6, () => change("resume")],
    [3, () => change("cancel")],
  ];

  /** Several clients at the same time: one that waits for an answer does not delay the others. */
  async function client(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let left = random.next() * ACTIONS.reduce((sum, [weight]) => sum + weight, 0);
      const [, act] = ACTIONS.find(([weight]) => {
        left -= weight;
        return left < 0;
      })!;
      await act().catch((error) => void faults.push(String(error)));
      await sleep(random.whole(50, 400));
    }
  }

  let pulses = 0;
  return {
    acked,
    confirmed,
    stops,
    counts,
    faults,
    call,
    run: async (signal) => {
      await Promise.all([client(signal), client(signal), client(signal)]);
    },
    pulse: async (timeoutMs) => {
      const eventId = `pulse-${pulses++}`;
      const fromMs = Date.now();
      void (async () => {
        await call("POST", "/api/v1/events", { source: "pulse", eventId, errorCode: "PULSE", payload: {} });
        const request = { select: { filter: { source: "pulse", eventId } }, lane: "main", reason: "pulse" };
        await call("POST", "/api/v1/redrives", request, { "idempotency-key": eventId });
      })().catch((error) => void faults.push(String(error)));
      while (Date.now() - fromMs < timeoutMs) {
        if (consumer.arrivals.some((arrival) => arrival.eventId === eventId)) return Date.now() - fromMs;
        await sleep(50);
      }
      return null;
    },
    resume: async (redriveId) => {
      resumed(redriveId);
      await call("PATCH", `/api/v1/redrives/${redriveId}`, { action: "resume", reason: "settle" });
    },
    settle: async () => {
      await Promise.all(bouncing);
      over = true;
    },
  };
}
