import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Admin, ConfigResourceTypes, IncrementalAlterConfigOperationTypes } from "@platformatic/kafka";
import { fetchServer, serverMissing } from "../../scripts/test-servers/fetch.ts";
import type { TestCertificates } from "./certificates.ts";
import { freePort } from "./free-port.ts";
import { type TestServer, testServer } from "./server-process.ts";

/** Null, or why there is no Kafka here: `describeWith(kafkaMissing, "kafka", ...)`. Importing this file fetches the jars. */
export const kafkaMissing = await serverMissing("kafka");

export type KafkaOptions = {
  /**
   * Adds a listener with SASL_SSL (PLAIN and SCRAM-SHA-512) for one user, and an authorizer. Resources without an access
   * rule stay open to all, and the plain listener is a superuser: a test denies by adding a rule.
   */
  secured?: { certificates: Pick<TestCertificates, "ca" | "server">; user: string; password: string };
  /**
   * Adds a listener whose clients are sent to another port, as a proxy needs it: a client that was sent to the broker's
   * own port would go past the proxy. Called once with the listener's port; resolves with the port to announce.
   */
  advertise?: (port: number) => Promise<number>;
  /** More broker settings: the lines of `server.properties`. */
  settings?: Record<string, string | number>;
};

export type TestKafka = TestServer &
  KafkaAddress & {
    /** Address of the SASL_SSL listener; null without `secured`. */
    securedBootstrap: string | null;
  };

export type KafkaAddress = {
  /** `127.0.0.1:<port>`, without TLS or password. */
  bootstrap: string;
  port: number;
};

/** A real Apache Kafka of its own: one node in KRaft mode. Topics are made by `makeTopic` and never by themselves. */
export async function testKafka({ secured, settings, advertise }: KafkaOptions = {}): Promise<TestKafka> {
  const [port, controllerPort, securedPort] = [await freePort(), await freePort(), await freePort()];
  const proxiedPort = advertise === undefined ? null : await freePort();
  const announcedPort = proxiedPort === null ? null : await advertise!(proxiedPort);
  const server = await testServer("kafka", async (folder) => {
    const file = join(folder, "server.properties");
    const properties: Record<string, string | number | boolean> = {
      ...brokerSettings(folder, { port, controllerPort }),
      ...(secured && securedSettings(folder, { port, controllerPort, securedPort }, secured)),
      ...settings,
    };
    if (proxiedPort !== null) {
      const map = properties["listener.security.protocol.map"] ?? "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT";
      const secure = secured ? `,SASL_SSL://127.0.0.1:${securedPort}` : "";
      Object.assign(properties, {
        listeners: `${properties.listeners},PROXIED://127.0.0.1:${proxiedPort}`,
        "advertised.listeners": `PLAINTEXT://127.0.0.1:${port},PROXIED://127.0.0.1:${announcedPort}${secure}`,
        "listener.security.protocol.map": `${map},PROXIED:PLAINTEXT`,
      });
    }
    writeFileSync(
      file,
      Object.entries(properties)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(""),
    );
    const scram = secured ? ["--add-scram", `SCRAM-SHA-512=[name=${secured.user},password=${secured.password}]`] : [];
    // Written with `=`: an id may begin with a hyphen.
    const cluster = `--cluster-id=${randomBytes(16).toString("base64url")}`;
    const format = ["format", cluster, "--config", file, ...scram];
    await promisify(execFile)("java", await java(64, "kafka.tools.StorageTool", ...format));
    // The broker writes the line after it may serve clients.
    const ready = (log: string) => log.includes("Kafka Server started");
    return { command: "java", args: await java(256, "kafka.Kafka", file), ready };
  });
  const securedBootstrap = secured ? `127.0.0.1:${securedPort}` : null;
  return { ...server, bootstrap: `127.0.0.1:${port}`, port, securedBootstrap };
}

/** Makes a topic and resolves when it can be written to. */
export function makeTopic(
  kafka: KafkaAddress,
  name: string,
  { partitions = 1, config = {} }: { partitions?: number; config?: Record<string, string> } = {},
): Promise<void> {
  return withAdmin(kafka, async (admin) => {
    const configs = Object.entries(config).map(([key, value]) => ({ name: key, value }));
    await admin.createTopics({ topics: [name], partitions, replicas: 1, configs });
    // The broker hears of it from the controller, some time later.
    const known = () => admin.metadata({ topics: [name], forceUpdate: true });
    for (let tries = 1; tries < 100 && !(await known().catch(() => null)); tries++) await sleep(100);
  });
}

/** Changes the configuration of a topic or of a group, as share groups need it (`share.delivery.count.limit`). */
export function configure(
  kafka: KafkaAddress,
  kind: "TOPIC" | "GROUP",
  resourceName: string,
  config: Record<string, string>,
): Promise<void> {
  const configOperation = IncrementalAlterConfigOperationTypes.SET;
  const configs = Object.entries(config).map(([name, value]) => ({ name, value, configOperation }));
  return withAdmin(kafka, (admin) =>
    admin.incrementalAlterConfigs({ resources: [{ resourceType: ConfigResourceTypes[kind], resourceName, configs }] }),
  );
}

export type ShareGroup = {
  topic: string;
  group: string;
  /** Made here. Kafka writes dead letters only to topics whose names begin with `dlq.`. */
  deadLetterTopic: `dlq.${string}`;
  /** REJECT gives a record up at once, RELEASE lets it be delivered again, `deliveries` times at most. */
  acknowledgement: "REJECT" | "RELEASE";
  /** Bound of the deliveries of a record. */
  deliveryLimit: number;
  /** The member ends after so many deliveries. */
  deliveries: number;
  /** Whether the dead letter holds key and value (it never holds headers). Kafka's own default is false. */
  copy?: boolean;
};

/**
 * Runs a share group (Kafka 4.2 and later) whose broker writes its dead letters, with the facts
 * in `__dlq.errors.*` headers. Resolves when the member has ended; the dead letter is written a moment later.
 */
export async function runShareGroup(kafka: KafkaAddress, share: ShareGroup): Promise<void> {
  const { topic, group, deadLetterTopic, acknowledgement, deliveryLimit, deliveries, copy = true } = share;
  await makeTopic(kafka, deadLetterTopic, { config: { "errors.deadletterqueue.group.enable": "true" } });
  await configure(kafka, "GROUP", group, {
    "errors.deadletterqueue.topic.name": deadLetterTopic,
    "errors.deadletterqueue.copy.record.enable": String(copy),
    "share.delivery.count.limit": String(deliveryLimit),
    "share.auto.offset.reset": "earliest",
  });
  const source = join(import.meta.dirname, "java", "ShareGroup.java");
  const args = [kafka.bootstrap, topic, group, acknowledgement, String(deliveries)];
  await promisify(execFile)("java", await java(64, source, ...args));
}

async function withAdmin<T>(kafka: KafkaAddress, use: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Admin({
    clientId: "parkade-test",
    bootstrapBrokers: [kafka.bootstrap],
    retries: 20,
    retryDelay: 250,
  });
  try {
    return await use(admin);
  } finally {
    await admin.close();
  }
}

const JAVA = [
  // The JVM shares two cores with all other tests: the small collector, the cheap compiler.
  ..."-XX:+UseSerialGC -XX:TieredStopAtLevel=1".split(" "),
  ..."-Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dorg.slf4j.simpleLogger.log.kafka.server=info".split(" "),
];

/** Arguments of `java` for a class or source file that uses Kafka's jars. */
async function java(heapMb: number, ...main: string[]): Promise<string[]> {
  return [`-Xms${heapMb}m`, `-Xmx${heapMb}m`, ...JAVA, "-cp", join(await fetchServer("kafka"), "*"), ...main];
}

function brokerSettings(folder: string, { port, controllerPort }: { port: number; controllerPort: number }) {
  return {
    "process.roles": "broker,controller",
    "node.id": 1,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": `1@127.0.0.1:${controllerPort}`,
    "log.dirs": join(folder, "log"),
    "auto.create.topics.enable": false,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "share.coordinator.state.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    // A killed broker may come back after its old session has expired; by default that takes 9 s.
    "broker.session.timeout.ms": 3_000,
    "broker.heartbeat.interval.ms": 500,
    // Tests of lost members use sessions far below the default's 6 s.
    "group.min.session.timeout.ms": 1_000,
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": 500,
    "log.cleaner.dedupe.buffer.size": 4_194_304,
  };
}

type Secured = NonNullable<KafkaOptions["secured"]>;
type Ports = { port: number; controllerPort: number; securedPort: number };

function securedSettings(folder: string, ports: Ports, { certificates, user, password }: Secured) {
  const { server, ca } = certificates;
  const keystore = join(folder, "keystore.pem");
  writeFileSync(keystore, server.key + server.cert + ca);
  const module = (name: string) => `org.apache.kafka.common.security.${name}`;
  const listener = "listener.name.sasl_ssl";
  return {
    listeners: [
      `PLAINTEXT://127.0.0.1:${ports.port}`,
      `SASL_SSL://127.0.0.1:${ports.securedPort}`,
      `CONTROLLER://127.0.0.1:${ports.controllerPort}`,
    ].join(","),
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
    [`${listener}.plain.sasl.jaas.config`]: `${module("plain.PlainLoginModule")} required user_${user}="${password}";`,
    [`${listener}.scram-sha-512.sasl.jaas.config`]: `${module("scram.ScramLoginModule")} required;`,
    [`${listener}.ssl.keystore.type`]: "PEM",
    [`${listener}.ssl.keystore.location`]: keystore,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": true,
  };
}
