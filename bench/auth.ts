import { Pool } from "undici";
import { insertAccount } from "@/lib/guard/accounts/accounts.write";
import { openSession } from "@/lib/guard/sessions/open-session";
import { insertToken } from "@/lib/guard/tokens/change-tokens";
import { createDb, type Db } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { buildAll } from "../scripts/build.ts";
import { fillStore } from "./event-store";
import { percentile } from "./figures";
import { startWebProcess } from "./processes";
import { startBenchStack } from "./stack";

/**
 * What a sign-in adds to a request of the built web process: on the same machine without one, with a session and with a token, one
 * request after the other and in turns, so that delays of the machine affect all. BENCH_REQUESTS (2,000 of each) makes a quick run.
 */

const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 2_000);
const EVENTS = 10_000;
/** Requests of one kind before the next kind takes its turn. */
const TURN = 50;
const ADDED_MS_AIM = 1;
const PATHS = ["/api/v1/me", "/api/v1/events?limit=1"];

type Kind = "open" | "session" | "token";
type Measured = { p50Ms: number; p95Ms: number };
export type AuthResult = { path: string } & Record<Kind, Measured> & Record<"sessionAddsMs" | "tokenAddsMs", number>;

export async function run() {
  await buildAll((line) => console.log(line));
  const stack = await startBenchStack();
  const db = createDb(stack.databaseUrl, { max: 1 });
  const stops: (() => unknown)[] = [() => db.end(), () => stack.stop()];
  try {
    await fillStore(db, { events: EVENTS, days: 1 });
    const { session, token } = await signedIn(db);
    await db.run("vacuum analyze");
    const web = await startWebProcess(stack.databaseUrl);
    stops.unshift(web.stop);
    const headers: Record<Kind, Record<string, string>> = {
      open: {},
      session: { cookie: `parkade=${session}` },
      token: { authorization: `Bearer ${token}` },
    };
    const results: AuthResult[] = [];
    for (const path of PATHS) results.push(await compare(web.url, path, headers));
    const added = results.flatMap(({ sessionAddsMs, tokenAddsMs }) => [sessionAddsMs, tokenAddsMs]);
    return { requests: REQUESTS, results, withinBounds: Math.max(...added) <= ADDED_MS_AIM };
  } finally {
    for (const stop of stops) await stop();
  }
}

/** An administrator with a session and a token, among accounts, sessions and tokens of others. */
async function signedIn(db: Db): Promise<{ session: string; token: string }> {
  const account = uuidv7(Date.now());
  await db.run(
    `insert into accounts (id, kind, name, name_key, role, created_by)
     select gen_random_uuid(), 'person', 'person-' || n, 'person' || n, 'operator', 'bench' from generate_series(1, 500) n`,
  );
  await db.run(
    `insert into sessions (id, secret_hash, account_id, means, expires_at)
     select gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), id, 'password', now() + interval '1 day'
       from accounts, generate_series(1, 4)`,
  );
  await db.run(
    `insert into api_tokens (id, hash, hint, account_id, name, created_by, expires_at)
     select gen_random_uuid(), sha256(gen_random_uuid()::text::bytea), 'pk_', id, 'bench', 'bench', now() + interval '1 day'
       from accounts, generate_series(1, 4)`,
  );
  return db.transaction(async (tx) => {
    const nowMs = Date.now();
    await insertAccount(tx, { id: account, kind: "person", name: "ada", role: "admin", by: "bench" });
    const browser = { address: "127.0.0.1", agent: "bench", sessionSecret: null };
    const opened = await openSession(tx, { ...browser, account, name: "ada", means: "password", nowMs });
    const wanted = { name: "bench", days: 1 };
    const made = await insertToken(tx, { owner: { account, name: "ada" }, wanted, by: "ada", nowMs });
    return { session: opened.secret, token: made.secret };
  });
}

async function compare(url: string, path: string, headers: Record<Kind, Record<string, string>>): Promise<AuthResult> {
  const pool = new Pool(url, { connections: 1 });
  const times: Record<Kind, number[]> = { open: [], session: [], token: [] };
  const kinds = Object.keys(times) as Kind[];
  // The first turns plan statements and compile code.
  const warm = 6 * TURN;
  for (let done = -warm; done < REQUESTS; done += TURN) {
    for (const kind of kinds) {
      for (let nth = 0; nth < TURN; nth++) {
        const startedMs = performance.now();
        const { statusCode, body } = await pool.request({ path, method: "GET", headers: headers[kind] });
        await body.arrayBuffer();
        if (statusCode !== 200) throw new Error(`${path} with ${kind} answered ${statusCode}`);
        if (done >= 0) times[kind].push(performance.now() - startedMs);
      }
    }
  }
  await pool.close();
  const measured = Object.fromEntries(
    kinds.map((kind) => [kind, { p50Ms: percentile(times[kind], 0.5), p95Ms: percentile(times[kind], 0.95) }]),
  ) as Record<Kind, Measured>;
  const adds = (kind: Kind) => measured[kind].p50Ms - measured.open.p50Ms;
  for (const kind of kinds) {
    const { p50Ms, p95Ms } = measured[kind];
    const added = kind === "open" ? "" : `  adds ${adds(kind).toFixed(2)} ms (aim <= ${ADDED_MS_AIM})`;
    const ratio = (p50Ms / measured.open.p50Ms).toFixed(2);
    console.log(
      `auth ${path.padEnd(24)} ${kind.padEnd(8)} p50 ${p50Ms.toFixed(2)} ms  p95 ${p95Ms.toFixed(2)} ms  ratio ${ratio}${added}`,
    );
  }
  return { path, ...measured, sessionAddsMs: adds("session"), tokenAddsMs: adds("token") };
}
