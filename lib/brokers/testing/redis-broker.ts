import { Redis } from "ioredis";
import type { TlsSettings } from "@/lib/brokers/kinds/fields.shapes";
import { testCertificates } from "@/lib/testing/certificates";
import { freePort } from "@/lib/testing/free-port";
import { testRedis } from "@/lib/testing/redis";

/** A Redis for the suite of an adapter, with a client that looks on. It listens over TLS beside its plain port. */
export async function redisBroker() {
  const certificates = testCertificates();
  const { ca, otherCa, caFile, server: own } = certificates;
  const tlsPort = await freePort();
  const server = await testRedis({
    stored: true,
    settings: {
      ...{ "tls-port": String(tlsPort), "tls-auth-clients": "optional", "tls-ca-cert-file": caFile },
      ...{ "tls-cert-file": own.certFile, "tls-key-file": own.keyFile },
    },
  });
  const redis = new Redis(server.url, { protocol: 2 });
  redis.on("error", () => undefined); // a test kills the server

  /** `over`: the configuration of the adapter with this address. */
  function tlsCases<Config>(over: (secure: { url: string; tls?: TlsSettings }) => Config) {
    const url = `rediss://127.0.0.1:${tlsPort}`;
    const refused: [title: string, config: Config, says: RegExp][] = [
      ["no authority", over({ url }), /certificate|signed/],
      ["another authority", over({ url, tls: { ca: otherCa } }), /certificate|signed/],
      ["another name", over({ url, tls: { ca, servername: "elsewhere.example" } }), /elsewhere\.example/],
    ];
    return { good: over({ url, tls: { ca } }), refused };
  }

  async function close(): Promise<void> {
    redis.disconnect();
    await server.stop();
    certificates.remove();
  }

  return { server, redis, tlsCases, close };
}

export type RedisBroker = Awaited<ReturnType<typeof redisBroker>>;
