import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Deps, setDeps } from "@/app/_server/deps";
import * as audit from "@/app/(guard)/api/v1/audit/route";
import * as channels from "@/app/(observe)/api/v1/channels/route";
import * as storedProbe from "@/app/(sources)/api/v1/sources/[name]/probe/route";
import * as source from "@/app/(sources)/api/v1/sources/[name]/route";
import * as probe from "@/app/(sources)/api/v1/sources/probe/route";
import * as sources from "@/app/(sources)/api/v1/sources/route";
import { outbound } from "@/lib/brokers/broker.conformance";
import { parseSourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { createLog } from "@/lib/platform/log";
import { type CallOptions, type TestConsole, testConsole } from "@/lib/testing/console";

/** Secrets that are easy to find: in variables, in addresses and typed in. Each way in which something fails may repeat them. */
const CANARIES = {
  header: "canary-of-a-header-4711",
  url: "canary-of-an-address-4712",
  signing: "canary-of-a-signature-4713",
  typed: "canary-typed-in-4714",
  user: "canary-of-a-user-4715",
};
const NAMES = { header: "PARKADE_SECRET_C_HEADER", url: "PARKADE_SECRET_C_URL", signing: "PARKADE_SECRET_C_SIGNING" };

let web: TestConsole;
let lines: string[];
let echo: Server;
let port: number;
const said: string[] = [];

beforeAll(async () => {
  web = await testConsole();
  lines = [];
  const destination = { write: (line: string) => void lines.push(line) };
  setDeps({ ...web.deps, log: createLog({ process: "test", level: "trace", destination }) } satisfies Deps);
  // A receiver that repeats all that it was sent, in every place of its answer.
  echo = createServer((request, response) => {
    const heard = `${request.url} ${JSON.stringify(request.headers)}`;
    response.writeHead(500, "no", { "x-heard": encodeURIComponent(heard) }).end(heard);
  });
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
  port = (echo.address() as AddressInfo).port;
  process.env[NAMES.header] = `Bearer ${CANARIES.header}`;
  process.env[NAMES.url] = `http://ann:${CANARIES.url}@127.0.0.1:${port}/in?token=${CANARIES.url}`;
  process.env[NAMES.signing] = CANARIES.signing;
});
afterAll(async () => {
  for (const name of Object.values(NAMES)) delete process.env[name];
  await web.close();
  await new Promise((resolve) => echo.close(resolve).closeAllConnections());
});

async function ask(handler: Parameters<TestConsole["call"]>[0], options: CallOptions): Promise<number> {
  const answer = await web.call(handler, options);
  said.push(answer.text, JSON.stringify([...answer.headers]));
  return answer.status;
}

const signing = { scheme: "hmac", secret: `env:${NAMES.signing}` };
const headers = { authorization: `env:${NAMES.header}`, "x-api-key": CANARIES.typed };
const typedUrl = () => `http://ann:${CANARIES.user}@127.0.0.1:${port}/in?api_key=${CANARIES.user}`;

/** A configuration for each way in which something fails. */
const CONFIGS: Record<string, () => object> = {
  "an answer that repeats what it was sent": () => ({ redriveUrl: `env:${NAMES.url}`, headers, signing }),
  "an address that is typed in": () => ({ redriveUrl: typedUrl(), headers, signing }),
  "a receiver that is away": () => ({ redriveUrl: `http://ann:${CANARIES.user}@127.0.0.1:9/in`, headers, signing }),
  "a name that nobody knows": () => ({ redriveUrl: `http://ann:${CANARIES.user}@nobody.invalid/in`, headers, signing }),
  "an address that is none": () => ({ redriveUrl: `env:${NAMES.header}`, headers }),
  "a setting that is none": () => ({ redriveUrl: typedUrl(), headers, secrat: CANARIES.typed }),
  "a header that cannot be sent": () => ({ redriveUrl: typedUrl(), headers: { "x-api-key": `${CANARIES.typed}\n` } }),
  "a refused address": () => ({ redriveUrl: `http://ann:${CANARIES.user}@169.254.169.254/in`, headers }),
  "a variable of Parkade's own": () => ({
    redriveUrl: typedUrl(),
    headers: { ...headers, "x-db": "env:DATABASE_URL" },
  }),
  "a certificate that is none": () => ({
    redriveUrl: `https://ann:${CANARIES.user}@127.0.0.1:${port}/in`,
    tls: { ca: "none", cert: "none", key: CANARIES.typed },
  }),
};

test("no way in which a source fails repeats a secret, in an answer, a header, the audit or the log", async () => {
  let stored = 0;
  for (const [index, configOf] of Object.values(CONFIGS).entries()) {
    const [name, config] = [`s-${index}`, configOf()];
    await ask(probe.POST, { body: { kind: "http", config } });
    if ((await ask(sources.POST, { body: { name, kind: "http", config } })) !== 201) continue;
    stored += 1;
    await ask(source.GET, { params: { name } });
    await ask(storedProbe.POST, { method: "POST", params: { name } });
    await ask(source.PATCH, {
      method: "PATCH",
      params: { name },
      body: { config: { ...config, slowLaneUrl: typedUrl(), x: 1 } },
    });
    const brokers = await web.deps.brokers();
    try {
      const publisher = brokers.publisher(parseSourceConfig("http", config));
      said.push(JSON.stringify(await publisher.publish(outbound({}), new AbortController().signal)));
    } catch (error) {
      const { message, stack, cause } = error as Error;
      said.push(message, stack ?? "", String(cause), JSON.stringify(error));
      web.deps.log.error({ err: error }, "as a worker would");
    }
  }
  expect(stored).toBeGreaterThan(3);
  await ask(sources.GET, {});
  // The state of a kind that is no JSON, and a body that breaks off in a secret.
  await ask(sources.POST, { body: `{"name":"x","config":{"redriveUrl":"${CANARIES.typed}` });
  await ask(channels.POST, {
    body: {
      name: "c",
      config: { kind: "webhook", url: `https://ann:${CANARIES.user}@hooks.example.com`, secret: CANARIES.typed },
    },
  });
  await ask(channels.POST, {
    body: { name: "d", config: { kind: "slack", url: `https://hooks.slack.com/${CANARIES.typed}` } },
  });
  await ask(audit.GET, { query: "?limit=200" });

  const everything = [...said, ...lines];
  expect(said.length).toBeGreaterThan(60);
  expect(lines.length).toBeGreaterThan(20);
  const encoded = (text: string) => [text, encodeURIComponent(text), Buffer.from(text).toString("base64").slice(0, -3)];
  const leaks = Object.entries(CANARIES).flatMap(([what, canary]) =>
    encoded(canary).flatMap((form) =>
      everything.filter((text) => text.includes(form)).map((text) => `${what}: ${text}`),
    ),
  );
  expect(leaks).toEqual([]);
});
