import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ListQueuesCommand, SQSClient, type SQSClientConfig } from "@aws-sdk/client-sqs";
import { fetchServer, serverMissing } from "../../scripts/test-servers/fetch.ts";
import { freePort } from "./free-port.ts";
import { answersHttp, type TestServer, testServer } from "./server-process.ts";

/** Null, or why there is no SQS here: `describeWith(elasticmqMissing, "sqs", ...)`. Importing this file fetches the jars. */
export const elasticmqMissing = await serverMissing("elasticmq");

export type TestElasticmq = TestServer & {
  /** `http://127.0.0.1:<port>` */
  endpoint: string;
  /** What a client needs to reach it: `new SQSClient(sqs.client)`. ElasticMQ accepts every access key. */
  client: SQSClientConfig;
};

/**
 * A real server with the protocol of SQS, and with its limits. Queues and messages lie on disk; with `stored: false`, which
 * is faster, they end with the process.
 */
export async function testElasticmq({ stored = true } = {}): Promise<TestElasticmq> {
  const jars = join(await fetchServer("elasticmq"), "*");
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const credentials = { accessKeyId: "parkade", secretAccessKey: "parkade" };
  const client = { endpoint, region: "eu-central-1", credentials };
  const sqs = new SQSClient(client);
  const queues = async () => (await sqs.send(new ListQueuesCommand({}))).QueueUrls ?? [];
  let kept: string[] = [];
  // ElasticMQ answers before it has read its queues back, and says meanwhile that they do not exist.
  const ready = async () => {
    if (!(await answersHttp(`${endpoint}/health`))) return false;
    const back = await queues();
    return kept.every((queue) => back.includes(queue));
  };
  const server = await testServer("elasticmq", async (folder) => {
    const file = join(folder, "elasticmq.conf");
    writeFileSync(file, configuration(folder, { port, stored }));
    const java = "-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1".split(" ");
    const args = [...java, `-Dconfig.file=${file}`, "-cp", jars, "org.elasticmq.server.Main"];
    return { command: "java", args, ready };
  });
  const kill: TestServer["kill"] = async (signal) => {
    kept = stored ? await queues() : [];
    await server.kill(signal);
  };
  const stop = async () => {
    sqs.destroy();
    await server.stop();
  };
  return { ...server, kill, stop, endpoint, client };
}

function configuration(folder: string, { port, stored }: { port: number; stored: boolean }): string {
  return `include classpath("application.conf")
node-address { protocol = http, host = "127.0.0.1", port = ${port}, context-path = "" }
rest-sqs { enabled = true, bind-port = ${port}, bind-hostname = "127.0.0.1", sqs-limits = strict }
rest-stats { enabled = false }
queues-storage { enabled = ${stored}, path = "${join(folder, "queues.conf")}" }
# By default the database writes half a second late, which kill -9 loses.
messages-storage { enabled = ${stored}, uri = "jdbc:h2:${join(folder, "messages")};WRITE_DELAY=0" }
aws { region = "eu-central-1", accountId = "000000000000" }
`;
}
