import { createHmac } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { changeSettings } from "@/lib/guard/settings/change-settings";
import { readSettings, showSettings } from "@/lib/guard/settings/settings.read";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { outboxTableSql } from "@/lib/kit/outbox/table";
import { readMetrics } from "@/lib/observe/metrics/metrics.read";
import { DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { createLog } from "@/lib/platform/log";
import { openWorld, TEST_PACES, type World } from "@/lib/testing/redrive-world";
import { startOutboxPublisher } from "./outbox-publisher";

const SECRET = "a-secret-of-the-receiver";
const viewer = localViewer("ada");

let world: World;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeEach(async () => {
  receiver = await startReceiver();
  world = await openWorld({ redisUrl: null, env: { PARKADE_SECRET_CONFIRMED: SECRET } });
});
afterEach(async () => {
  await world.close();
  await receiver.stop();
});

type Got = { headers: IncomingHttpHeaders; text: string };
async function startReceiver() {
  const got: Got[] = [];
  let status = 204;
  /** Requests with this text get no answer. */
  let hung = "\0";
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      got.push({ headers: request.headers, text });
      if (!text.includes(hung)) response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    got,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/confirmed`,
    answer: (next: number) => {
      status = next;
    },
    hangOn: (text: string) => {
      hung = text;
    },
    stop: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  };
}

const setUrl = (confirmedUrl: string | null) =>
  changeSettings(world.deps, { settings: {}, confirmedUrl, reason: "the order service wants to know" }, viewer);
const confirm = (eventIds: string[], source = "orders") =>
  confirmEvents(world.deps, { source, eventIds, consumer: "billing" }, viewer);
const waiting = () =>
  world.db.query("select status, attempts, payload from outbox where status <> 'SENT' order by seq");

describe("confirmations", () => {
  test("reach the address in the settings, signed, once they are committed", async () => {
    await setUrl(receiver.url);
    await world.park(3, (n) => ({ aggregateId: `order-${n}`, version: 7n }));
    await confirm(["event-0000", "event-0002", "unknown"]);
    expect(receiver.got).toEqual([]);
    await world.worker();
    await expect.poll(() => receiver.got.length).toBe(1);
    const [{ headers, text }] = receiver.got as [Got];
    const { type, timestamp, data } = JSON.parse(text);
    expect([type, Number.isNaN(Date.parse(timestamp)), data.source, data.by]).toEqual([
      "events.confirmed",
      false,
      "orders",
      "billing",
    ]);
    expect(data.events).toMatchObject([
      { eventId: "event-0000", aggregateId: "order-0", aggregateType: "order", version: "7", redriveId: null },
      { eventId: "event-0002", aggregateId: "order-2" },
    ]);
    const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${text}`;
    expect(headers["webhook-signature"]).toBe(`v1,${createHmac("sha256", SECRET).update(signed).digest("base64")}`);
    expect(headers["idempotency-key"]).toBe(`"${headers["webhook-id"]}"`);
    await expect.poll(waiting).toEqual([]);
    expect(await world.broken()).toEqual([]);
  });

  test("reach the address that a reference stands for, and wait while it stands for none, which no log repeats", async () => {
    const variables = { PARKADE_SECRET_HOOK: "not-an-address-s3cret" };
    let logged = "";
    const write = (line: string) => {
      logged += line;
    };
    const log = createLog({ level: "trace", process: "test", destination: { write } });
    await setUrl("env:PARKADE_SECRET_HOOK");
    expect((await showSettings(world.db, viewer)).confirmedUrl).toBe("env:PARKADE_SECRET_HOOK");
    await expect(setUrl("env:DATABASE_URL")).rejects.toMatchObject({ fields: [{ field: "confirmedUrl" }] });
    await world.park(1);
    await confirm(["event-0000"]);
    const publisher = startOutboxPublisher({
      paces: TEST_PACES,
      ...{ db: world.db, clock: world.deps.clock, random: Math.random, log, secret: undefined },
      ...{ addresses: DEFAULT_ADDRESSES, secrets: { variables, listed: [] } },
    });
    await expect.poll(() => logged, { timeout: 10_000 }).toContain("PARKADE_SECRET_HOOK is not an address");
    variables.PARKADE_SECRET_HOOK = receiver.url;
    await expect.poll(() => receiver.got.length, { timeout: 20_000 }).toBe(1);
    await publisher.stop();
    expect(logged).not.toContain("s3cret");
  });

  test("of the quiet window are sent too, with the redrive that delivered", async () => {
    await setUrl(receiver.url);
    await changeSettings(world.deps, { settings: { quietWindowMs: 1_000 }, reason: "soon" }, viewer);
    await world.park(1);
    await world.worker();
    const { id } = await world.request();
    await world.ended(id);
    await expect.poll(() => receiver.got.length).toBe(1);
    expect(JSON.parse(receiver.got[0]!.text).data).toMatchObject({ by: "quiet window", events: [{ redriveId: id }] });
  });

  test("wait while the receiver is away, and come with the same id", async () => {
    await setUrl(receiver.url);
    receiver.answer(500);
    await world.park(1);
    await confirm(["event-0000"]);
    await world.worker();
    await expect.poll(() => receiver.got.length).toBe(1);
    receiver.answer(204);
    await expect.poll(waiting).toEqual([]);
    expect(new Set(receiver.got.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  });

  test("of a source whose request hangs hold none of the others up, and none is sent twice", async () => {
    await setUrl(receiver.url);
    await world.source("slow");
    for (const name of ["slow", "orders"]) await world.park(1, () => ({}), name);
    receiver.hangOn('"slow"');
    await confirm(["event-0000"], "slow");
    await confirm(["event-0000"]);
    await world.worker();
    const of = (name: string) => receiver.got.filter(({ text }) => text.includes(`"${name}"`)).length;
    await expect.poll(async () => (await waiting()).length).toBe(1);
    expect([of("orders"), of("slow")]).toEqual([1, 1]);
    receiver.hangOn("\0");
    await expect.poll(waiting).toEqual([]);
    expect([of("orders"), of("slow")]).toEqual([1, 2]);
  });

  test("are not written without an address, and are forgotten with it", async () => {
    await world.park(2);
    await confirm(["event-0000"]);
    expect(await waiting()).toEqual([]);
    await setUrl(receiver.url);
    await confirm(["event-0001"]);
    expect(await waiting()).toHaveLength(1);
    const metrics = await readMetrics(world.db, viewer, Date.now());
    expect(metrics).toContainEqual(
      expect.objectContaining({ name: "outbox_messages", samples: [{ labels: { status: "NEW" }, value: 1 }] }),
    );
    await setUrl(null);
    expect(await waiting()).toEqual([]);
    expect(await showSettings(world.db, viewer)).toEqual({
      settings: await readSettings(world.db),
      confirmedUrl: null,
    });
  });
});

test("a confirmation goes to no address that the filter refuses", async () => {
  await world.close();
  world = await openWorld({ redisUrl: null, env: { PARKADE_REFUSED_ADDRESSES: "127.0.0.0/8" } });
  await setUrl(receiver.url);
  await world.park(1);
  await confirm(["event-0000"]);
  await world.worker();
  await expect
    .poll(async () => (await world.db.query<{ attempts: number }>("select attempts from outbox"))[0]?.attempts)
    .toBeGreaterThan(0);
  expect(receiver.got).toEqual([]);
});

test("the outbox of the store is the table that the kit makes", async () => {
  const statements = outboxTableSql({ table: "kit_outbox" }).split(/(?<=;)\n/);
  await world.db.run(statements[0]!);
  const columns = (table: string) =>
    world.db.query(
      `select column_name, data_type, is_nullable, column_default, is_identity from information_schema.columns
        where table_name = $1 order by column_name`,
      [table],
    );
  expect(await columns("outbox")).toEqual(await columns("kit_outbox"));
  for (const statement of statements.slice(1)) if (statement !== "") await world.db.run(statement);
  const indexes = async (table: string) => {
    const rows = await world.db.query<{ indexdef: string }>("select indexdef from pg_indexes where tablename = $1", [
      table,
    ]);
    return rows.map((row) => row.indexdef.replaceAll("kit_outbox", "outbox")).sort();
  };
  expect(await indexes("outbox")).toEqual(await indexes("kit_outbox"));
});
