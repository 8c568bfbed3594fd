import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  ListMessageMoveTasksCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
  StartMessageMoveTaskCommand,
} from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "./describe-with.ts";
import { elasticmqMissing, type TestElasticmq, testElasticmq } from "./elasticmq.ts";
import { processesOf } from "./server-process.ts";

describeWith(elasticmqMissing, "test ElasticMQ", () => {
  let sqs: TestElasticmq;
  let client: SQSClient;
  beforeAll(async () => {
    sqs = await testElasticmq();
    client = new SQSClient(sqs.client);
  });
  afterAll(async () => {
    client?.destroy();
    await sqs?.stop();
  });

  async function makeQueue(QueueName: string, Attributes: Record<string, string> = {}) {
    const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName, Attributes }));
    const read = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["QueueArn"] }));
    return { QueueUrl, arn: read.Attributes!.QueueArn! };
  }

  const receive = async (QueueUrl: string | undefined) => {
    const { Messages = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 1 }));
    return Messages.map((message) => message.Body);
  };

  test("has its queues and messages when it is started after kill -9, at its address, also when there are many", async () => {
    const urls = await Promise.all(Array.from({ length: 30 }, async (_, n) => (await makeQueue(`kept-${n}`)).QueueUrl));
    const sendToAll = (MessageBody: string) =>
      Promise.all(urls.map((QueueUrl) => client.send(new SendMessageCommand({ QueueUrl, MessageBody }))));
    await sendToAll("before");
    await sqs.kill();
    await sqs.start();
    await sendToAll("after");
    const depth = async (QueueUrl: string | undefined) => {
      const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["ApproximateNumberOfMessages"] });
      return (await client.send(command)).Attributes!.ApproximateNumberOfMessages;
    };
    // A queue is there a moment before its messages.
    await Promise.all(urls.map((url) => expect.poll(() => depth(url)).toBe("2")));
  }, 180_000);

  test("moves dead letters to the queue that they came from", async () => {
    const dead = await makeQueue("orders-dead");
    const redrive = JSON.stringify({ deadLetterTargetArn: dead.arn, maxReceiveCount: 1 });
    const orders = await makeQueue("orders", { RedrivePolicy: redrive, VisibilityTimeout: "0" });
    await client.send(new SendMessageCommand({ QueueUrl: orders.QueueUrl, MessageBody: "dead" }));
    expect(await receive(orders.QueueUrl)).toEqual(["dead"]);
    expect(await receive(orders.QueueUrl)).toEqual([]);
    await client.send(new StartMessageMoveTaskCommand({ SourceArn: dead.arn }));
    await expect
      .poll(
        async () => (await client.send(new ListMessageMoveTasksCommand({ SourceArn: dead.arn }))).Results![0]!.Status,
      )
      .toBe("COMPLETED");
    expect(await receive(orders.QueueUrl)).toEqual(["dead"]);
  });

  test("leaves no process when it is stopped", async () => {
    const other = await testElasticmq({ stored: false });
    expect(processesOf(other.folder)).toHaveLength(1);
    await other.stop();
    expect(processesOf(other.folder)).toEqual([]);
  }, 180_000);
});
