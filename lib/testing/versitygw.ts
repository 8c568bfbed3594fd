import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { fetchServer, serverMissing } from "../../scripts/test-servers/fetch.ts";
import { freePort } from "./free-port.ts";
import { answersHttp, type TestServer, testServer } from "./server-process.ts";

/** Null, or why there is no S3 here: `describeWith(versitygwMissing, "s3", ...)`. Importing this file builds the server. */
export const versitygwMissing = await serverMissing("versitygw");

export type TestVersitygw = TestServer & {
  port: number;
  /** `http://127.0.0.1:<port>` */
  endpoint: string;
  /** Of its only account. Signatures are verified. */
  keys: { accessKeyId: string; secretAccessKey: string };
  makeBucket(name: string): Promise<void>;
};

/**
 * A real server with the protocol of S3, conditional writes and checksums included. Starts in 0.2 s. `disk`: a folder that holds
 * the objects in place of its own, so that it can be full.
 */
export async function testVersitygw({ disk }: { disk?: string } = {}): Promise<TestVersitygw> {
  const command = join(await fetchServer("versitygw"), "versitygw");
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const keys = { accessKeyId: "parkade-tests", secretAccessKey: "s3cret-of-tests" };
  const server = await testServer("versitygw", async (folder) => {
    const data = join(disk ?? folder, "data");
    mkdirSync(data);
    const env = { ...process.env, ROOT_ACCESS_KEY: keys.accessKeyId, ROOT_SECRET_KEY: keys.secretAccessKey };
    const args = ["--port", `127.0.0.1:${port}`, "--health", "/health", "posix", data];
    return { command, args, env, ready: () => answersHttp(`${endpoint}/health`) };
  });
  const makeBucket = async (name: string) => {
    const client = new S3Client({ endpoint, credentials: keys, region: "us-east-1", forcePathStyle: true });
    await client.send(new CreateBucketCommand({ Bucket: name }));
    client.destroy();
  };
  return { ...server, port, endpoint, keys, makeBucket };
}
