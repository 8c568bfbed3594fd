import { afterEach, beforeEach, expect, test } from "vitest";
import { harm, NO_HARM } from "@/lib/redrive/scenarios/testing/outage";
import { startTokenServer, type TokenServer } from "@/lib/testing/receivers";
import { PATIENT, worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest({ ratePerSecond: 200 });
let server: TokenServer;

/** One attempt alone: each that counts would fail its event. */
beforeEach(async () => {
  server = await startTokenServer();
  const oauth = { url: server.url, clientId: "parkade", clientSecret: "s3cret-of-the-client" };
  await world.db.run("update sources set config = $1::jsonb, updated_at = now()", [
    JSON.stringify({ redriveUrl: world.sink.url, oauth }),
  ]);
  const breaker = { ...PATIENT.breaker, openMs: 1_000, openMsMax: 1_000 };
  await world.policy({ ...PATIENT, breaker, maxAttempts: 1 });
});
afterEach(() => server.stop());

test("a token server that fails between two sends is an outage: no attempt is used, and all goes when it is back", async () => {
  const give = server.answer;
  server.beside = { expires_in: 0 };
  // The check of the target has a token, and its first send has none.
  server.answer = (request) => (server.tokens.length === 0 ? give(request) : 503);
  await world.park(3);
  await world.worker();
  const { id } = await world.request();
  const stalled = async () => (await world.redrive(id)).stalled?.text;
  await expect.poll(stalled, { timeout: 30_000 }).toMatch(/not reached .*no access token: .* answered 503/);
  expect(world.sink.arrived).toEqual([]);
  server.answer = give;
  await world.ended(id);
  expect(await world.redrive(id)).toMatchObject({ state: "DONE", delivered: 3, failed: 0, refused: 0 });
  expect(await harm(world)).toEqual(NO_HARM);
});

test("a refused token is replaced within the attempt, and neither token is stored", async () => {
  world.sink.answer = () => (server.tokens.length === 1 ? 401 : 200);
  await world.park(3);
  await world.worker();
  const { id } = await world.request();
  await world.ended(id);
  expect(await world.redrive(id)).toMatchObject({ state: "DONE", delivered: 3 });
  expect(server.tokens).toEqual(["token-1", "token-2"]);
  expect(new Set(world.sink.arrived.map(({ headers }) => headers["x-redrive-attempt"]))).toEqual(new Set(["1"]));
  const tables = await world.db.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  for (const { name } of tables) {
    const rows = await world.db.query<{ text: string }>(`select t::text as text from ${name} t`);
    expect(rows.filter(({ text }) => /token-\d/.test(text))).toEqual([]);
  }
});
