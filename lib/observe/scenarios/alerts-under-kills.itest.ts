import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { addChannel } from "@/lib/observe/channels/change-channel";
import { channelRequestSchema } from "@/lib/observe/channels/channels.shapes";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/**
 * Who must agree that a person is told of a new group, once: the worker that evaluates, the one that sends, the store, the
 * receiver. Workers are killed and the store's connections cut at any step. A message may come again with the same id, when
 * its worker died between the receiver's answer and the record of it; never with another.
 */
const world = worldOfEachTest();
const ADA = localViewer("ada");

type Got = { id: string; type: string };
let hooks: Got[];
let mails: string[];
let receiver: Server;
let smtp: SMTPServer;

beforeEach(async () => {
  [hooks, mails] = [[], []];
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { type } = JSON.parse(Buffer.concat(chunks).toString()) as { type: string };
      hooks.push({ id: String(request.headers["webhook-id"]), type });
      response.writeHead(200).end();
    });
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  smtp = new SMTPServer({
    ...{ authOptional: true, disabledCommands: ["STARTTLS"] },
    onData: (stream, _, done) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        mails.push(/^Message-ID: (.*?)\r?$/im.exec(Buffer.concat(chunks).toString())![1]!);
        done();
      });
    },
  });
  await new Promise<void>((resolve) => smtp.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
  await new Promise<void>((resolve) => smtp.close(resolve));
});

const port = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
const idsOf = (type: string) => new Set(hooks.filter((hook) => hook.type === type).map(({ id }) => id));

async function killed(afterMs: number): Promise<void> {
  const worker = await world.doomedWorker();
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  worker.kill("SIGKILL");
  await once(worker, "exit");
}

/** As a restart of the server does. */
const cutConnections = () =>
  world.db.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and application_name like 'parkade-%'",
  );

test("a new group is told once, by webhook and by mail, whoever dies meanwhile, and so is its end", async () => {
  const channel = (name: string, config: object) =>
    addChannel({ ...world.deps, limits: world.deps.env }, channelRequestSchema.parse({ name, config }), ADA);
  await channel("hook", { kind: "webhook", url: `http://127.0.0.1:${port(receiver)}/` });
  const server = `smtp://127.0.0.1:${port(smtp.server)}`;
  await channel("mail", { kind: "email", server, from: "parkade@example.com", to: ["ada@example.com"] });
  await world.park(7, (index) => ({ eventId: `e-${index}`, errorCode: "CONFIG_ERROR" }));
  // Before the evaluation, within it, before the send, within it: the steps of a worker that starts take such times.
  for (const afterMs of [0, 15, 40, 90, 200]) await killed(afterMs);
  const survivor = await world.doomedWorker();
  await cutConnections();
  await expect.poll(() => [idsOf("alert.fired").size, new Set(mails).size], { timeout: 30_000 }).toEqual([1, 1]);
  const [alert] = await world.db.query<{ state: string }>("select state from alerts");
  expect(alert).toEqual({ state: "firing" });
  await ignoreEvents(world.deps, { select: { filter: {} }, reason: "the currency is configured" }, ADA);
  survivor.kill("SIGKILL");
  await killed(60);
  // The rule ends an alert after a minute without its cause.
  await world.db.run("update alert_rules set body = body || '{\"clearMs\": 0}'");
  await world.worker();
  await cutConnections();
  await expect.poll(() => [idsOf("alert.resolved").size, new Set(mails).size], { timeout: 40_000 }).toEqual([1, 2]);
  expect(idsOf("alert.fired").size).toBe(1);
  expect(await world.db.query("select state, resolved_because from alerts")).toEqual([
    { state: "resolved", resolved_because: "cleared" },
  ]);
});
