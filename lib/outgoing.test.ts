import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/**
 * Which code of the product opens connections, and where their addresses come from. An address that a user of the console writes goes
 * through the address filter: `lib/brokers/addresses.itest.ts` and `workers/outgoing.itest.ts` try each way. The others are the
 * operator's, from the environment.
 */
const OPENERS: Record<string, string> = {
  "components/shell/use-self-healing.ts": "a browser, to the console",
  "lib/platform/browser/fetch-json.browser.ts": "a browser, to the console",
  "lib/cli/api.ts": "the command line, to PARKADE_URL of its user",
  "lib/kit/outbox/transports/http.ts": "the kit in a service of its user; Parkade's own worker gives it checkedFetch",
  "lib/kit/outbox/transports/parkade.ts": "the kit in a service of its user",
  "lib/kit/park/deliver.ts": "the kit in a service of its user",
  "lib/platform/archive/s3-bucket.ts": "PARKADE_ARCHIVE",
  "lib/lane/bullmq-backend.ts": "REDIS_URL, or DATABASE_URL",
  "lib/lane/redis-client.ts": "REDIS_URL",
  "lib/lane/worker.ts": "the errors of jobs; connects to nothing",
  "lib/platform/database/types.ts": "the types of columns; connects to nothing",
  "lib/platform/database/prisma.ts": "DATABASE_URL",
  "lib/platform/tracing/otlp-tracer.ts": "OTEL_EXPORTER_OTLP_ENDPOINT",
  "lib/guard/oidc/logout-token.ts": "verifies tokens; lib/guard/oidc/provider.ts gives it the keys",
  "lib/guard/oidc/provider.ts": "PARKADE_OIDC_ISSUER, and what its metadata name",
  "lib/platform/networks.ts": "lists of addresses; connects to nothing",
  "lib/platform/tls-suites.ts": "the suites of TLS; connects to nothing",
  "lib/platform/trusted-certificates.ts": "the authorities of TLS; connects to nothing",
  "scripts/app-role.ts": "PARKADE_OWNER_DATABASE_URL",
  "scripts/client-address.ts": "the address of a client; connects to nothing",
  "scripts/free-port.ts": "listens on this machine",
  "scripts/fuzz-api.ts": "a console that the check started",
  "scripts/migrate.ts": "DATABASE_URL",
  "scripts/servers.ts": "DATABASE_URL and REDIS_URL",
  "scripts/stack.ts": "the console that the launcher started",
  "scripts/web-server.ts": "listens",
  "workers/demo-downstream.ts": "listens on this machine",
  // Through the filter.
  "lib/observe/channels/send-alert.ts": "a channel: workers/alert-publisher.ts gives it checkedFetch",
  "lib/platform/address-filter.ts": "the filter itself",
  "lib/platform/mail.ts": "a channel: checkedSocket",
  "lib/platform/postgres-pool.ts": "DATABASE_URL, and an outbox, which gives it checkedSocket",
};

const NETWORK =
  /^(?:node:(?:net|tls|http|https|http2|dgram|dns)|undici|pg|ioredis|nodemailer|amqplib|rhea|bullmq|@grpc\/.*|@nats-io\/.*|@platformatic\/kafka|@aws-sdk\/.*|google-auth-library|openid-client|jose|@opentelemetry\/exporter.*)$/;
const IMPORT = /^import (?!type\b)([^;]*?) from "([^"]+)"/gm;
const OPENS = /\bfetch\(|\bnew (?:WebSocket|EventSource)\(|\bsendBeacon\(/;

/** Only types of a package: `import { type A, type B }`. */
const ofTypes = (names: string) => /^\{(?:\s*type [^,}]+,?)+\s*\}$/.test(names);
const usesNetwork = (text: string) =>
  OPENS.test(text.replace(/^\s*(?:\/\/|\*).*$/gm, "")) ||
  [...text.matchAll(IMPORT)].some(([, names, from]) => NETWORK.test(from!) && !ofTypes(names!));

const files = globSync("{app,components,lib,workers,scripts}/**/*.{ts,tsx,mjs}")
  .filter(
    (file) =>
      !/\.(test|itest|soak)\.tsx?$|\.conformance\.ts$|(^|\/)(testing|generated|test-servers)\/|\.d\.ts$/.test(file),
  )
  .sort();

/** Each kind of source lies here, and is tried as a whole with refused addresses and a name that changes its address. */
const isBroker = (file: string) => file.startsWith("lib/brokers/");

test("every file that may open a connection is known, with the place that its address comes from", () => {
  const found = files.filter((file) => !isBroker(file) && usesNetwork(readFileSync(file, "utf8")));
  expect(found).toEqual(Object.keys(OPENERS).sort());
});

/** What makes a client or a socket in the code of the kinds. */
const MAKES =
  /\bnew (?:Pool|Client|Agent|Redis|Queue|Admin|Producer|Consumer|SQSClient|PostgresPool)\(|(?<![.\w]|async |private )(?:connect|connectTcp|connectTls|tcpConnect|tlsConnect|createConnection)\(|create_container\(/;

test("every file of a kind that makes a client hands it the address filter", () => {
  const making = files.filter((file) => isBroker(file) && MAKES.test(readFileSync(file, "utf8")));
  expect(making.length).toBeGreaterThan(10);
  const unfiltered = making.filter(
    (file) => !/\baddresses\b|AddressFilter|clientOf\(|checkedConnector|checkedSocket/.test(readFileSync(file, "utf8")),
  );
  expect(unfiltered).toEqual([]);
});

test("tells apart what opens a connection and what only names a type", () => {
  expect(usesNetwork('import pg from "pg";')).toBe(true);
  expect(usesNetwork('import { type Redis } from "ioredis";\nimport type pg from "pg";')).toBe(false);
  expect(usesNetwork("  await fetch(url);")).toBe(true);
  expect(usesNetwork("  // fetch(url) is not called")).toBe(false);
});
