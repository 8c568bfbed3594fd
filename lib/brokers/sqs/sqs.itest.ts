import { type MessageAttributeValue, SendMessageCommand } from "@aws-sdk/client-sqs";
import { describe, expect, it } from "vitest";
import { consumerOf, describeBroker, eventually, outbound } from "@/lib/brokers/broker.conformance";
import type { PublishError } from "@/lib/brokers/port";
import type { SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import {
  adapter,
  configOf,
  depthOf,
  direct,
  failNext,
  front,
  makeHarness,
  makeQueues,
  never,
  onElasticmq,
  orderOf,
  takeAll,
} from "@/lib/brokers/sqs/testing/sqs-broker";
import { backOut, parkOne, sendAll } from "@/lib/brokers/testing/round-trip";
import { systemClock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";
import { describeWith } from "@/lib/testing/describe-with";
import { elasticmqMissing } from "@/lib/testing/elasticmq";

describeWith(elasticmqMissing, "sqs", () => {
  onElasticmq();

  describeBroker<SqsConfig>("sqs", () => makeHarness(false));
  describe("a dead letter's way back", () => redriveTests());
  describe("refusals", () => refusalTests());
});

function redriveTests(): void {
  const EVERY_TYPE: Record<string, MessageAttributeValue> = {
    text: { DataType: "String", StringValue: "é" },
    json: { DataType: "String.json", StringValue: '{"a":1}' },
    count: { DataType: "Number", StringValue: "12345678901234567890123456789012345678" },
    integer: { DataType: "Number.int", StringValue: "-5" },
    bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(0, 255, 128) },
    picture: { DataType: "Binary.png", BinaryValue: Uint8Array.of(137, 80) },
  };

  it("gives the consumer the message it would have got the first time, every attribute type included", async () => {
    const queues = await makeQueues();
    const trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1";
    await direct.send(
      new SendMessageCommand({
        QueueUrl: queues.url,
        MessageBody: '{"n": 12345678901234567890}',
        MessageAttributes: EVERY_TYPE,
        MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: trace } },
      }),
    );
    await failNext(queues);
    const letter = await parkOne(adapter, configOf(queues));
    expect(letter).toMatchObject({ errorCode: "DELIVERY_LIMIT", attempts: 1, origin: { queue: queues.queue } });
    expect(letter.origin.convention).toBe("sqs-redrive-policy");
    expect(await sendAll(adapter, configOf(queues), [backOut(letter)])).toEqual([{ status: "sent" }]);
    const [arrived] = await takeAll(queues.url);
    expect(arrived!.Body).toBe('{"n": 12345678901234567890}');
    expect(arrived!.Attributes?.AWSTraceHeader).toBe(trace);
    expect(arrived!.MessageAttributes).toMatchObject(EVERY_TYPE);
  });

  it("delivers to a FIFO queue again within the five minutes in which a naive relay is swallowed", async () => {
    const queues = await makeQueues({ fifo: true });
    await direct.send(
      new SendMessageCommand({
        QueueUrl: queues.url,
        MessageBody: "{}",
        MessageGroupId: "order-1",
        MessageDeduplicationId: "placed-1",
      }),
    );
    await failNext(queues);
    const letter = await parkOne(adapter, configOf(queues));
    expect(letter).toMatchObject({ aggregateId: "order-1", origin: { messageGroup: "order-1" } });
    // As received: SQS answers that it was sent, and delivers nothing.
    const naive = { MessageGroupId: "order-1", MessageDeduplicationId: "placed-1" };
    await direct.send(new SendMessageCommand({ QueueUrl: queues.url, MessageBody: "{}", ...naive }));
    expect(await takeAll(queues.url)).toEqual([]);
    await sendAll(adapter, configOf(queues), [backOut(letter, { attempt: 1 }), backOut(letter, { attempt: 2 })]);
    const arrived = await takeAll(queues.url);
    expect(arrived.map(({ Attributes }) => Attributes?.MessageGroupId)).toEqual(["order-1", "order-1"]);
    expect(new Set(arrived.map(({ Attributes }) => Attributes?.MessageDeduplicationId)).size).toBe(2);
  });

  it("reads the messages of a FIFO group in their order, and acknowledges them", async () => {
    const queues = await makeQueues({ fifo: true });
    const bodies = Array.from({ length: 35 }, (_, n) => `m-${n}`);
    for (const MessageBody of bodies)
      await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody, ...orderOf(true, "one") }));
    const parked: string[] = [];
    const consumer = consumerOf(adapter, configOf(queues), async (batch) => {
      parked.push(...batch.map(({ payload }) => Buffer.from(payload).toString()));
    });
    await eventually(() => parked).toEqual(bodies);
    await eventually(() => depthOf(queues.dlqUrl)).toBe(0);
    await consumer.stop();
  });

  it("does not look into a queue that moves messages on, and holds them while they cannot be committed", async () => {
    const last = await makeQueues();
    const arn = `arn:aws:sqs:eu-central-1:000000000000:${last.dlq}`;
    const queues = await makeQueues({
      dlq: { RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: "3" }) },
    });
    await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody: "held" }));
    const probed = await adapter.probe(configOf(queues), never);
    expect(probed).toMatchObject({
      reachable: true,
      depth: 1,
      sample: [],
      detail: expect.stringContaining("counts"),
    });
    let calls = 0;
    const parked: DeadLetter[] = [];
    const consumer = consumerOf(adapter, configOf(queues), async (batch) => {
      calls += 1;
      if (calls < 5) throw new Error("the store is away");
      parked.push(...batch);
    });
    await eventually(() => parked.length).toBe(1);
    await consumer.stop();
    expect(await depthOf(last.dlqUrl)).toBe(0);
  });

  it("sends one message of a batch to nobody without harm to the others", async () => {
    const queues = await makeQueues();
    const origin = { queue: queues.queue };
    const outcomes = await sendAll(adapter, configOf(queues), [
      outbound(origin, { payload: Buffer.from("one") }),
      outbound(origin, { payload: Buffer.from("\u0001") }),
      outbound({ queue: "not-there" }, { payload: Buffer.from("nowhere") }),
      outbound({}, { payload: Buffer.from("unknown") }),
      outbound(origin, { payload: Buffer.alloc(1_048_577, "x") }),
      outbound(origin, { payload: Buffer.alloc(900_000, "x") }),
      outbound(origin, { payload: Buffer.from("two") }),
    ]);
    expect(outcomes.map((outcome) => (outcome as PublishError).code ?? "sent")).toEqual([
      "sent",
      "SQS_INVALID_MESSAGE_CONTENTS",
      "SQS_QUEUE_DOES_NOT_EXIST",
      "SQS_NO_ORIGIN_QUEUE",
      "SQS_MESSAGE_TOO_LARGE",
      "sent",
      "sent",
    ]);
    expect(outcomes.map((outcome) => (outcome as PublishError).sent ?? "sent")).not.toContain("maybe");
    expect(await takeAll(queues.url)).toHaveLength(3);
  });
}

function refusalTests(): void {
  const denied = (action: RegExp, error = "AccessDeniedException", status = 400) =>
    front({ refuse: { action, error, status } });

  it.each([
    ["AccessDeniedException", 400, "SQS_ACCESS_DENIED_EXCEPTION", "no", "no permission for sqs:SendMessage on queue"],
    ["RequestThrottled", 400, "SQS_REQUEST_THROTTLED", "no", "SQS_REQUEST_THROTTLED"],
    ["KmsDisabled", 400, "SQS_KMS_DISABLED", "no", "KMS key of queue"],
    ["InternalFailure", 500, "SQS_INTERNAL_FAILURE", "maybe", "SQS_INTERNAL_FAILURE"],
  ])("says what a send met: %s", async (error, status, code, sent, words) => {
    const queues = await makeQueues();
    const config = configOf(queues, { endpoint: await denied(/^SendMessageBatch$/, error, status) });
    const [outcome] = await sendAll(adapter, config, [outbound({ queue: queues.queue })]);
    expect(outcome).toMatchObject({ code, sent, message: expect.stringContaining(words) });
  });

  it.each([
    ["DeleteMessageBatch", "sqs:DeleteMessage"],
    ["ChangeMessageVisibilityBatch", "sqs:ChangeMessageVisibility"],
  ])("names the permission that is missing while it reads: %s", async (action, permission) => {
    const queues = await makeQueues();
    await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody: "x" }));
    const endpoint = await denied(new RegExp(`^${action}$`));
    const config = configOf(queues, { endpoint, visibilitySeconds: 3 });
    const held = Promise.withResolvers<void>();
    const consumer = consumerOf(adapter, config, async () => {
      // Held until the visibility timeout had to be extended once.
      if (action !== "DeleteMessageBatch") await Promise.race([held.promise, systemClock.sleep(2_000)]);
    });
    await eventually(() => consumer.state().lastError).toContain(`no permission for ${permission} on queue`);
    expect(await depthOf(queues.dlqUrl)).toBeGreaterThanOrEqual(0);
    held.resolve();
    await consumer.stop();
  });

  it("reads on without the permission to read the depth, and does not show one", async () => {
    const queues = await makeQueues();
    await direct.send(new SendMessageCommand({ QueueUrl: queues.dlqUrl, MessageBody: "x" }));
    const config = configOf(queues, { endpoint: await denied(/^GetQueueAttributes$/) });
    const probed = await adapter.probe(config, never);
    expect(probed).toMatchObject({
      reachable: true,
      depth: null,
      detail: expect.stringContaining("its depth is unknown"),
    });
    expect(await parkOne(adapter, config)).toMatchObject({ errorCode: "UNKNOWN" });
    await eventually(() => depthOf(queues.dlqUrl)).toBe(0);
  });
}
