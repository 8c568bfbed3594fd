import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fetchServer, serverMissing } from "../../scripts/test-servers/fetch.ts";
import type { TestCertificates } from "./certificates.ts";
import { freePort } from "./free-port.ts";
import { type TestServer, testServer } from "./server-process.ts";

/** Null, or why there is no Artemis here: `describeWith(artemisMissing, "amqp", ...)`. Importing this file fetches the jars. */
export const artemisMissing = await serverMissing("artemis");

export type ArtemisOptions = {
  /** Adds a listener with TLS, at `tlsPort`. */
  certificates?: Pick<TestCertificates, "ca" | "server">;
};

export type TestArtemis = TestServer & {
  host: string;
  /** Port of AMQP 1.0. */
  port: number;
  /** Port of AMQP 1.0 over TLS; answers only with `certificates`. */
  tlsPort: number;
  username: string;
  password: string;
};

/** Where Artemis puts a message that was rejected or delivered too often. */
export const ARTEMIS_DEAD_LETTERS = "DLA";
/** Addresses whose name begins so are never made by their use. */
export const ARTEMIS_FIXED = "fixed.";
/** Nobody may use addresses whose name begins so. */
export const ARTEMIS_DENIED = "denied.";
/** Deliveries of a message before Artemis gives it up. */
export const ARTEMIS_DELIVERIES_MAX = 2;

/** A real Apache ActiveMQ Artemis of its own, with AMQP 1.0 and queues that are made by their first use. */
export async function testArtemis({ certificates }: ArtemisOptions = {}): Promise<TestArtemis> {
  const jars = join(await fetchServer("artemis"), "*");
  const [port, tlsPort] = [await freePort(), await freePort()];
  const [username, password] = ["app", "s3cret-7"];
  const server = await testServer("artemis", async (folder) => {
    const acceptors = [`tcp://127.0.0.1:${port}?protocols=AMQP`];
    if (certificates) {
      const keystore = join(folder, "keystore.pem");
      writeFileSync(keystore, certificates.server.key + certificates.server.cert + certificates.ca);
      acceptors.push(
        `tcp://127.0.0.1:${tlsPort}?protocols=AMQP;sslEnabled=true;keyStoreType=PEM;keyStorePath=${keystore}`,
      );
    }
    const file = join(folder, "broker.xml");
    writeFileSync(file, configuration(folder, acceptors));
    const java = "-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1".split(" ");
    const source = join(import.meta.dirname, "java", "Artemis.java");
    const args = [...java, "-cp", jars, source, file, username, password];
    return { command: "java", args, ready: (log) => log.includes("Artemis started") };
  });
  return { ...server, host: "127.0.0.1", port, tlsPort, username, password };
}

const PERMISSIONS = [
  ...["createAddress", "deleteAddress", "createDurableQueue", "deleteDurableQueue"],
  ...["createNonDurableQueue", "deleteNonDurableQueue", "send", "consume", "browse", "manage"],
];

function configuration(folder: string, acceptors: string[]): string {
  const allowed = PERMISSIONS.map((type) => `<permission type="${type}" roles="app"/>`);
  return `<configuration xmlns="urn:activemq"><core xmlns="urn:activemq:core">
  <persistence-enabled>true</persistence-enabled>
  <journal-type>NIO</journal-type>
  <journal-directory>${folder}/journal</journal-directory>
  <bindings-directory>${folder}/bindings</bindings-directory>
  <large-messages-directory>${folder}/large</large-messages-directory>
  <paging-directory>${folder}/paging</paging-directory>
  <!-- A machine with a nearly full disk would otherwise block every producer. -->
  <max-disk-usage>100</max-disk-usage>
  <acceptors>${acceptors.map((url, index) => `<acceptor name="a${index}">${url.replaceAll("&", "&amp;")}</acceptor>`).join("")}</acceptors>
  <security-settings><security-setting match="#">${allowed.join("")}</security-setting>
    <security-setting match="${ARTEMIS_DENIED}#"/></security-settings>
  <address-settings><address-setting match="#">
    <dead-letter-address>${ARTEMIS_DEAD_LETTERS}</dead-letter-address>
    <max-delivery-attempts>${ARTEMIS_DELIVERIES_MAX}</max-delivery-attempts>
    <redelivery-delay>0</redelivery-delay>
    <default-address-routing-type>ANYCAST</default-address-routing-type>
    <default-queue-routing-type>ANYCAST</default-queue-routing-type>
    <auto-delete-queues>false</auto-delete-queues>
    <auto-delete-addresses>false</auto-delete-addresses>
  </address-setting><address-setting match="${ARTEMIS_FIXED}#">
    <auto-create-queues>false</auto-create-queues>
    <auto-create-addresses>false</auto-create-addresses>
  </address-setting></address-settings>
  <addresses><address name="${ARTEMIS_DEAD_LETTERS}"><anycast><queue name="${ARTEMIS_DEAD_LETTERS}"/></anycast></address></addresses>
</core></configuration>
`;
}
