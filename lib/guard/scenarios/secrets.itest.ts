import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as probe from "@/app/(sources)/api/v1/sources/probe/route";
import * as sources from "@/app/(sources)/api/v1/sources/route";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { openWorld } from "@/lib/testing/redrive-world";

const SECRET = "s3cr3t-T0k3n-9174";
const HEADERS = { "x-actor": "ada" };

/** Repeats the credentials it is sent, as a debugging proxy or an error page does. */
async function echoingTarget() {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    seen.push(request.headers);
    const text = `refused ${request.headers.authorization} from ${request.headers["x-key"]}`;
    response.writeHead(422, { "content-type": "text/plain" }).end(request.method === "HEAD" ? undefined : text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`;
  return { seen, url, stop: () => new Promise((resolve) => server.close(resolve).closeAllConnections()) };
}

beforeEach(() => {
  process.env.PARKADE_SECRET_TEST = `Bearer ${SECRET}`;
});
afterEach(() => {
  Reflect.deleteProperty(process.env, "PARKADE_SECRET_TEST");
});

describe("a source that names a variable", () => {
  let console: TestConsole;
  beforeEach(async () => {
    console = await testConsole();
  });
  afterEach(() => console.close());

  test("may not read Parkade's own or the machine's, sends nothing, and is told which field to change", async () => {
    const target = await echoingTarget();
    const texts: string[] = [];
    for (const name of ["DATABASE_URL", "PATH", "NO_SUCH_VARIABLE"]) {
      const config = { redriveUrl: target.url, headers: { "x-key": `env:${name}` } };
      for (const [handler, body] of [
        [probe.POST, { kind: "http", config }],
        [sources.POST, { name: `s-${name}`, kind: "http", config }],
      ] as const) {
        const answer = await console.call(handler, { body, headers: HEADERS });
        expect(answer.status).toBe(422);
        expect(answer.body.errors).toEqual([
          { field: "config.headers.x-key", detail: expect.stringMatching(/PARKADE_SECRET_.*PARKADE_ENV_REFERENCES/) },
        ]);
        texts.push(String(answer.body.detail));
      }
    }
    // The words do not tell whether a variable exists.
    expect(new Set(texts).size).toBe(1);
    expect(target.seen).toEqual([]);
    await target.stop();
  });

  test("is probed with its value, which no answer and no audit entry shows; the probe is on record", async () => {
    const target = await echoingTarget();
    const url = new URL(target.url);
    url.username = "maria";
    url.password = "hunter2";
    const config = { redriveUrl: url.href, headers: { authorization: "env:PARKADE_SECRET_TEST" } };
    const answer = await console.call(probe.POST, { body: { kind: "http", config }, headers: HEADERS });
    expect(answer.status).toBe(200);
    expect(target.seen[0]?.authorization).toBe(`Bearer ${SECRET}`);
    const entries = await console.deps.db.query(
      "select actor, action, subject_kind as kind, after::text as after from audit_entries",
    );
    expect(entries).toEqual([
      { actor: "ada", action: "source.probed", kind: "source", after: expect.stringContaining(url.host) },
    ]);
    for (const text of [answer.text, JSON.stringify(entries)]) {
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain("hunter2");
    }
    await target.stop();
  });
});

test("a redrive sends the value of a secret, and stores it nowhere although the target repeats it", async () => {
  const target = await echoingTarget();
  const world = await openWorld({ redisUrl: null });
  try {
    await world.db.run("update sources set config = $1::jsonb, updated_at = now()", [
      JSON.stringify({
        redriveUrl: target.url,
        headers: { authorization: "env:PARKADE_SECRET_TEST", "x-key": "plain" },
      }),
    ]);
    await world.park(1);
    await world.worker();
    await world.ended((await world.request()).id);
    expect(target.seen.some(({ authorization }) => authorization === `Bearer ${SECRET}`)).toBe(true);
    const tables = await world.db.query<{ name: string }>(
      `select quote_ident(table_schema) || '.' || quote_ident(table_name) as name from information_schema.tables
        where table_schema in ('public', 'bullmq') and table_type = 'BASE TABLE'`,
    );
    const holding: string[] = [];
    let repeated = 0;
    for (const { name } of tables) {
      const rows = await world.db.query<{ text: string }>(`select t::text as text from ${name} t`);
      if (rows.some(({ text }) => text.includes(SECRET))) holding.push(name);
      repeated += rows.filter(({ text }) => text.includes("refused *** from plain")).length;
    }
    expect(holding).toEqual([]);
    // The answer of the target is kept, without the secret.
    expect(repeated).toBeGreaterThan(0);
  } finally {
    await world.close();
    await target.stop();
  }
});
