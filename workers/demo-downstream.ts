import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { systemClock } from "@/lib/platform/clock";
import { hash64 } from "@/lib/platform/plain/hash.pure";

/**
 * The unreliable consumer service that the demo's sources deliver to. It honours Idempotency-Key, and its failures
 * depend on the key, so that the same event gets the same answers at every try.
 *
 * - 4 %: 422, always;
 * - 3 %: 503 sometimes;
 * - 8 %: 503 with Retry-After at first, success from the second send on;
 * - 2 %: so slow that the first send times out.
 */

/** Keys remembered; beyond it the oldest are forgotten. */
const KEYS_MAX = 100_000;
const BODY_BYTES_MAX = 16 * 1024 * 1024;
const LATENCY_MS = { min: 15, spread: 90 };
/** Beyond the slow lane's timeout of an attempt. */
const STUCK_MS = 4_000;

type Answer = { status: number; body: Record<string, unknown>; headers?: Record<string, string> };

const sends = new Map<string, number>();
const accepted = new Map<string, Answer>();
const counts = { accepted: 0, replayed: 0, refused: 0, unavailable: 0, slow: 0 };

/** 0..99, the same for the same key. */
function fate(key: string): number {
  return Number.parseInt(hash64(key).slice(0, 8), 16) % 100;
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > KEYS_MAX) map.delete(map.keys().next().value!);
}

async function answerTo(key: string): Promise<Answer> {
  const before = accepted.get(key);
  if (before) {
    counts.replayed++;
    return { ...before, headers: { "idempotent-replayed": "true" } };
  }
  const nth = (sends.get(key) ?? 0) + 1;
  remember(sends, key, nth);
  const lot = fate(key);
  await systemClock.sleep(LATENCY_MS.min + (lot / 100) * LATENCY_MS.spread);
  if (lot < 4) {
    counts.refused++;
    return { status: 422, body: { error: "the order was closed meanwhile" } };
  }
  if ((lot < 12 && nth === 1) || (lot < 15 && nth % 3 === 1)) {
    counts.unavailable++;
    return { status: 503, body: { error: "stock service is restarting" }, headers: { "retry-after": "1" } };
  }
  if (lot < 17 && nth === 1) {
    counts.slow++;
    await systemClock.sleep(STUCK_MS);
  }
  counts.accepted++;
  const answer: Answer = { status: 200, body: { accepted: true } };
  remember(accepted, key, answer);
  return answer;
}

async function drain(request: IncomingMessage): Promise<boolean> {
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).byteLength;
    if (bytes > BODY_BYTES_MAX) return false;
  }
  return true;
}

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== "POST") return send(response, { status: 200, body: { ...counts } });
  if (!(await drain(request))) return send(response, { status: 413, body: { error: "too large" } });
  const key = String(request.headers["idempotency-key"] ?? "").replace(/^"|"$/g, "");
  if (key === "") return send(response, { status: 400, body: { error: "Idempotency-Key is missing" } });
  send(response, await answerTo(key));
}

const port = Number(process.env.PARKADE_DEMO_PORT);
if (!Number.isInteger(port) || port < 0 || port > 65_535 || !process.env.PARKADE_DEMO_PORT) {
  process.stderr.write("PARKADE_DEMO_PORT must be the port the demo's downstream listens on\n");
  process.exit(1);
}

const server = createServer((request, response) => {
  // The sender may have given up meanwhile: the slow answers are made for that.
  handle(request, response).catch(() => response.destroy());
});
server.on("error", (error) => {
  process.stderr.write(`PARKADE_DEMO_PORT ${port} cannot be used: ${error.message}\n`);
  process.exit(1);
});
server.listen(port, "127.0.0.1", () => {
  process.stdout.write(
    `${JSON.stringify({ level: "info", process: "downstream", port, msg: "demo downstream ready" })}\n`,
  );
  process.send?.({ kind: "ready" });
});
for (const signal of ["SIGTERM", "SIGINT"] as const) {
  process.on(signal, () => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
}
