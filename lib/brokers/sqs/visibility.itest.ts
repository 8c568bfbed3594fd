import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "@/lib/brokers/broker.conformance";
import { ParkLoop } from "@/lib/brokers/park-loop";
import type { SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { sqsReader } from "@/lib/brokers/sqs/reader";
import type { Clock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { manualClock } from "@/lib/testing/manual-clock";

const HOUR_MS = 3_600_000;
/** Of SQS: from a receipt on, whatever it was extended by. ElasticMQ knows no such limit, and its time cannot be moved. */
const LIMIT_MS = 12 * HOUR_MS;

type Asked = {
  Entries?: { Id: string; ReceiptHandle: string; VisibilityTimeout: number }[];
  VisibilityTimeout: number;
};

/** A queue of one message with the times of SQS, by the clock of the test. */
async function playedQueue(clock: Clock) {
  const queue = { deliveries: 0, extended: 0, refused: 0, deleted: false, visibleAtMs: 0 };
  let receivedAtMs = 0;
  const receipt = () => `receipt ${queue.deliveries}`;
  const entriesOf = ({ Entries = [] }: Asked, act: (entry: (typeof Entries)[number]) => boolean) => {
    const done = Entries.map((entry) => ({ Id: entry.Id, ok: entry.ReceiptHandle === receipt() && act(entry) }));
    const Failed = done
      .filter(({ ok }) => !ok)
      .map(({ Id }) => ({ Id, SenderFault: true, Code: "InvalidParameterValue" }));
    return { Successful: done.filter(({ ok }) => ok).map(({ Id }) => ({ Id })), Failed };
  };
  const answers = new Map<string, (asked: Asked) => object>([
    ["GetQueueUrl", () => ({ QueueUrl: "http://sqs.example/1/q" })],
    ["GetQueueAttributes", () => ({ Attributes: { ApproximateNumberOfMessages: "1" } })],
    [
      "ReceiveMessage",
      ({ VisibilityTimeout }) => {
        if (queue.deleted || clock.nowMs() < queue.visibleAtMs) return {};
        queue.deliveries += 1;
        receivedAtMs = clock.nowMs();
        queue.visibleAtMs = receivedAtMs + VisibilityTimeout * 1000;
        const MD5OfBody = createHash("md5").update("{}").digest("hex");
        return { Messages: [{ MessageId: "m", ReceiptHandle: receipt(), Body: "{}", MD5OfBody }] };
      },
    ],
    [
      "ChangeMessageVisibilityBatch",
      (asked) =>
        entriesOf(asked, ({ VisibilityTimeout }) => {
          const untilMs = clock.nowMs() + VisibilityTimeout * 1000;
          if (clock.nowMs() >= queue.visibleAtMs || untilMs > receivedAtMs + LIMIT_MS) {
            queue.refused += 1;
            return false;
          }
          queue.extended += 1;
          queue.visibleAtMs = untilMs;
          return true;
        }),
    ],
    [
      "DeleteMessageBatch",
      (asked) =>
        entriesOf(asked, () => {
          queue.deleted = true;
          return true;
        }),
    ],
  ]);
  const server = createServer(async (request, response) => {
    const asked = (await json(request)) as Asked;
    const action = String(request.headers["x-amz-target"]).replace("AmazonSQS.", "");
    response.setHeader("content-type", "application/x-amz-json-1.0");
    response.end(JSON.stringify(answers.get(action)!(asked)));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { queue, endpoint };
}

test("a message that stays in hand for days is given back before the limit of SQS, and counted once", async () => {
  const clock = manualClock();
  const { queue, endpoint } = await playedQueue(clock);
  const config = {
    queue: "q",
    endpoint,
    region: "eu-central-1",
    accessKeyId: "key",
    secretAccessKey: "secret",
    visibilitySeconds: 3_600,
  } as SqsConfig;
  let refuse = true;
  const parked: DeadLetter[] = [];
  const park = async (letters: DeadLetter[]) => {
    if (refuse) throw new DomainError("invalid-request", "the store refuses a message's values");
    parked.push(...letters);
  };
  const deps = { clock, random: () => 0, report: () => undefined };
  const loop = new ParkLoop(sqsReader(config, deps), park, deps);
  onTestFinished(() => loop.stop());
  await eventually(() => loop.state().lastError).toContain("1 message ");
  for (let hour = 0; hour < 40; hour += 1) {
    for (const _ of [1, 2, 3]) {
      const seen = queue.extended + queue.refused;
      await clock.advance(HOUR_MS / 3);
      await eventually(() => queue.extended + queue.refused).toBeGreaterThan(seen);
    }
  }
  expect(queue.refused).toBe(0);
  // Each time it is in hand for all but the last beat before the limit.
  await eventually(() => queue.deliveries).toBe(4);
  await eventually(() => loop.state().lastError).toContain("1 message ");
  refuse = false;
  loop.retryNow();
  await eventually(async () => {
    await clock.advance(60_000);
    return queue.deleted;
  }).toBe(true);
  expect(parked).toHaveLength(1);
  expect(loop.state().lastError).toBeNull();
});
