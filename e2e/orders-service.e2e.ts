import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { kafkaMissing, makeTopic, type TestKafka, testKafka } from "../lib/testing/kafka.ts";
import { startPostgres } from "../scripts/embedded-postgres.ts";
import { freePort } from "../scripts/free-port.ts";
import { guardAgainstOrphan } from "../scripts/orphan-guard.ts";
import { packKit } from "../scripts/pack-kit.ts";
import { runTool } from "../scripts/run-tool.ts";
import { ROOT } from "../scripts/stack.ts";
import { expect, test } from "./support/parkade.ts";

/** The sample service of docs/kit, with the package installed from its tarball. */
type Orders = {
  place(orderId: string, amount: number): Promise<void>;
  setAmountMax(amount: number): Promise<void>;
  invoices(): Promise<{ order_id: string; amount: number }[]>;
  /** kill -9, and a new process. */
  killAndStart(): Promise<void>;
  stop(): Promise<void>;
};

test.skip(kafkaMissing !== null, kafkaMissing ?? "");

let kafka: TestKafka;
let orders: Orders;
const cleanups: (() => Promise<void> | void)[] = [];

test.beforeAll(async ({ product }) => {
  const folder = mkdtempSync(join(tmpdir(), "parkade-orders-"));
  chmodSync(folder, 0o755); // PostgreSQL runs as another user under root
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  kafka = await testKafka();
  cleanups.push(() => kafka.stop());
  await makeTopic(kafka, "orders", { partitions: 2 });
  await makeTopic(kafka, "orders.dlq");
  const postgres = await startPostgres({ dataDir: join(folder, "pg"), settings: { fsync: "off" }, ephemeral: true });
  cleanups.push(() => postgres.stop());
  await install(folder);
  orders = await startOrders(folder, {
    DATABASE_URL: postgres.url,
    KAFKA: kafka.bootstrap,
    PARKADE_URL: product.url,
    SPOOL_DIR: join(folder, "spool"),
  });
  cleanups.push(() => orders.stop());
});

test.afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

// Takes a minute: the kit is packed and installed, its sample service is type-checked, and Kafka starts.
test("an order that its consumer refuses is parked, redriven by Kafka, processed once and confirmed", {
  tag: "@soak",
}, async ({ page, request }) => {
  const made = await request.post("/api/v1/sources", {
    data: {
      name: "orders",
      kind: "kafka",
      config: { bootstrap: [kafka.bootstrap], topics: ["orders.dlq"], mapping: { eventId: "event-id" } },
      retryable: true,
    },
  });
  expect(made.status(), await made.text()).toBeLessThan(300);

  await orders.place("o-good", 50);
  await orders.place("o-large", 500);
  await expect.poll(() => orders.invoices()).toEqual([{ order_id: "o-good", amount: 50 }]);

  await page.goto("/events?source=orders");
  const row = page.getByRole("row").filter({ hasText: "o-large" }).first();
  await expect(row).toBeVisible();
  await expect(page.getByRole("row").filter({ hasText: "o-good" })).toHaveCount(0);

  // The fault is mended, and the service dies on the way: what it had to say is in its outbox.
  await orders.killAndStart();
  await orders.setAmountMax(1_000);
  const redrive = await request.post("/api/v1/redrives", {
    headers: { "idempotency-key": "orders-service" },
    data: {
      select: { filter: { source: ["orders"] } },
      mode: "deliver",
      lane: "main",
      reason: "billing takes large orders",
    },
  });
  expect(redrive.status(), await redrive.text()).toBe(202);
  const { id } = (await redrive.json()) as { id: string };

  await expect
    .poll(() => orders.invoices())
    .toEqual([
      { order_id: "o-good", amount: 50 },
      { order_id: "o-large", amount: 500 },
    ]);
  const redriven = async () => {
    const list = await (await request.get("/api/v1/events?source=orders")).json();
    return (list.items as { id: string; eventId: string; status: string; confirmedAt: string | null }[])[0]!;
  };
  // The consumer's own word, by its outbox: the quiet window is longer than this journey.
  await expect.poll(async () => (await redriven()).confirmedAt).not.toBeNull();
  expect(await redriven()).toMatchObject({ eventId: "o-large", status: "REDRIVEN" });
  await page.goto(`/events/${(await redriven()).id}`);
  await expect(page.getByRole("heading", { name: /^CONFIRMED/ })).toBeVisible();
  const item = await (await request.get(`/api/v1/redrives/${id}/items`)).json();
  expect(item.items).toMatchObject([{ eventId: "o-large", state: "delivered" }]);
});

/** The package from its tarball; the service's own clients are those of this repository. */
async function install(folder: string): Promise<void> {
  const { tarball } = await packKit(join(folder, "packed"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "orders", private: true, type: "module" }));
  const installed = await runTool(
    "npm",
    ["install", tarball, "--offline", "--no-audit", "--no-fund", "--legacy-peer-deps"],
    { cwd: folder },
  );
  if (installed.code !== 0) throw new Error(installed.output);
  mkdirSync(join(folder, "node_modules/@platformatic"), { recursive: true });
  mkdirSync(join(folder, "node_modules/@types"));
  for (const name of ["pg", "ioredis", "@platformatic/kafka", "@types/pg", "@types/node"])
    symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  copyFileSync(join(ROOT, "docs/kit/orders-service/orders.ts"), join(folder, "orders.ts"));
  const checked = await runTool(
    process.execPath,
    [
      ...[join(ROOT, "node_modules/typescript/bin/tsc"), "orders.ts", "--noEmit", "--ignoreConfig", "--strict"],
      ...["--skipLibCheck", "--module", "nodenext", "--target", "es2024", "--types", "node"],
      ...["--typeRoots", join(ROOT, "node_modules/@types")],
    ],
    { cwd: folder },
  );
  if (checked.code !== 0) throw new Error(checked.output);
}

async function startOrders(folder: string, env: Record<string, string>): Promise<Orders> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const start = async (): Promise<ChildProcess> => {
    const service: ChildProcess = spawn(process.execPath, ["orders.ts"], {
      cwd: folder,
      env: { NODE_ENV: "production", PATH: process.env.PATH!, ...env, PORT: String(port) },
      stdio: ["ignore", "pipe", "inherit"],
    });
    service.once("exit", guardAgainstOrphan(service.pid!, { signal: "KILL" }));
    const ready = new Promise<void>((resolve, reject) => {
      service.stdout!.on("data", (chunk: Buffer) => String(chunk).includes("is ready") && resolve());
      service.once("exit", (code) => reject(new Error(`the service ended with ${code}`)));
    });
    await ready;
    return service;
  };
  let service = await start();
  const call = async (method: string, path: string, body?: string) => {
    const answer = await fetch(url + path, { method, ...(body === undefined ? {} : { body }) });
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}`);
    return answer;
  };
  const end = async (signal: NodeJS.Signals) => {
    const ended = once(service, "exit");
    service.kill(signal);
    await ended;
  };
  return {
    place: async (orderId, amount) => {
      await call("POST", "/orders", JSON.stringify({ orderId, amount }));
    },
    setAmountMax: async (amount) => {
      await call("PUT", "/amount-max", String(amount));
    },
    invoices: async () => (await call("GET", "/invoices")).json() as Promise<{ order_id: string; amount: number }[]>,
    killAndStart: async () => {
      await end("SIGKILL");
      service = await start();
    },
    stop: () => end("SIGTERM"),
  };
}
