import { once } from "node:events";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { addChannel } from "@/lib/observe/channels/channels";
import { channelRequestSchema } from "@/lib/observe/channels/channels.shapes";
import { type HookReceiver, type MailReceiver, startHookReceiver, startMailReceiver } from "@/lib/testing/receivers";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

/**
 * Who must agree that a person is notified about a new group, once: the worker that evaluates, the one that sends, the store, the
 * receiver. Workers are killed and the store's connections cut at any step. A message may come again with the same id, when
 * its worker died between the receiver's answer and the record of it; never with another.
 */
const world = worldOfEachTest();
const ADA = localViewer("ada");

let receiver: HookReceiver;
let mailbox: MailReceiver;

beforeEach(async () => {
  [receiver, mailbox] = [await startHookReceiver(), await startMailReceiver()];
});
afterEach(async () => {
  await receiver.stop();
  await mailbox.stop();
});

/** The ids of the messages of this type that came. */
const idsOf = (type: string) =>
  new Set(receiver.got.flatMap(({ body, headers }) => (JSON.parse(body).type === type ? headers["webhook-id"] : [])));
const mailIds = () => new Set(mailbox.mails.map((mail) => /^Message-ID: (.*?)\r?$/im.exec(mail)![1]));

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

const channel = (name: string, config: object) =>
  addChannel({ ...world.deps, limits: world.deps.env }, channelRequestSchema.parse({ name, config }), ADA);

test("the end of a redrive is told once to who asked for it, though workers were killed", async () => {
  await channel("ops", { kind: "webhook", url: receiver.url });
  await world.park(4, (index) => ({ eventId: `e-${index}` }));
  await world.request({ tell: ["ops"] });
  for (const afterMs of [0, 30, 120]) await killed(afterMs);
  await world.worker();
  await expect.poll(() => idsOf("operation.ended").size, { timeout: 90_000 }).toBe(1);
  const ended = receiver.got.find(({ body }) => JSON.parse(body).type === "operation.ended")!;
  expect(JSON.parse(ended.body).data.sentence).toMatch(/^Redrive ended: .* of 4$/);
});

test("a new group is told once, by webhook and by mail, whoever dies meanwhile, and so is its end", async () => {
  await channel("hook", { kind: "webhook", url: receiver.url });
  await channel("mail", {
    kind: "email",
    server: mailbox.server,
    from: "parkade@example.com",
    to: ["ada@example.com"],
  });
  await world.park(7, (index) => ({ eventId: `e-${index}`, errorCode: "CONFIG_ERROR" }));
  // Before the evaluation, within it, before the send, within it: the steps of a worker that starts take such times.
  for (const afterMs of [0, 15, 40, 90, 200]) await killed(afterMs);
  const survivor = await world.doomedWorker();
  await cutConnections();
  await expect.poll(() => [idsOf("alert.fired").size, mailIds().size], { timeout: 30_000 }).toEqual([1, 1]);
  const [alert] = await world.db.query<{ state: string }>("select state from alerts");
  expect(alert).toEqual({ state: "firing" });
  await ignoreEvents(world.deps, { select: { filter: {} }, reason: "the currency is configured" }, ADA);
  survivor.kill("SIGKILL");
  await killed(60);
  // The rule ends an alert after a minute without its cause.
  await world.db.run("update alert_rules set body = body || '{\"clearMs\": 0}'");
  await world.worker();
  await cutConnections();
  await expect.poll(() => [idsOf("alert.resolved").size, mailIds().size], { timeout: 40_000 }).toEqual([1, 2]);
  expect(idsOf("alert.fired").size).toBe(1);
  expect(await world.db.query("select state, resolved_because from alerts")).toEqual([
    { state: "resolved", resolved_because: "cleared" },
  ]);
});
