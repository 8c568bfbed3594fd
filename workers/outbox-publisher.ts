import { checkedFetch } from "@/lib/brokers/checked-connector";
import type { SecretVariables } from "@/lib/guard/redaction/secret-references.pure";
import { confirmedUrlFault } from "@/lib/guard/settings/settings.pure";
import { readConfirmedUrl } from "@/lib/guard/settings/settings.read";
import type { Message, Transport } from "@/lib/kit/outbox/message";
import { createOutboxPublisher, type OutboxPublisher } from "@/lib/kit/outbox/publisher";
import { httpTransport } from "@/lib/kit/outbox/transports/http";
import type { AddressFilter } from "@/lib/platform/address-filter";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";
import type { Paces } from "@/lib/platform/plain/paces.pure";
import type { Random } from "@/lib/retry/clock";
import { resolveAddress } from "./resolve-reference";

/** One claim at a time: a message holds up to 2,000 events, and nobody waits for it. */
const SETTINGS = { concurrency: 1, batch: 50, maxAttempts: 25 };

const CONNECT_MS = 10_000;

type PublisherDeps = {
  db: Db;
  clock: Clock;
  random: Random;
  log: Log;
  secret: string | undefined;
  addresses: AddressFilter;
  secrets: SecretVariables;
  paces: Pick<Paces, "outboxMs" | "publishMs">;
};

/**
 * Sends what Parkade itself has in its outbox: confirmations, to the address that the settings name when they are sent. A
 * message that is refused 25 times, over about an hour, is FAILED and holds no other.
 */
export function startOutboxPublisher({
  db,
  clock,
  random,
  log,
  secret,
  addresses,
  secrets,
  paces,
}: PublisherDeps): OutboxPublisher {
  const http = httpTransport({ secret, clock, fetch: checkedFetch(addresses, CONNECT_MS) });
  const transport: Transport = {
    publishMany: async (messages, ...signals) => {
      const stored = await readConfirmedUrl(db);
      if (stored === null) throw new Error("confirmedUrl was removed from the settings");
      const url = resolveAddress(stored, secrets, confirmedUrlFault);
      return http.publishMany(
        messages.map((message): Message => ({ ...message, destination: url })),
        ...signals,
      );
    },
  };
  let away = false;
  const observer = {
    sent: ({ count }: { count: number }) => {
      if (away) log.info({ count }, "confirmations are taken again");
      away = false;
    },
    outage: ({ error }: { error: unknown }) => {
      if (!away) log.warn({ err: error }, "confirmations wait in the outbox");
      away = true;
    },
    failed: ({ event, error, final }: { event: Message; error: unknown; final: boolean }) => {
      if (final)
        log.error({ outboxId: event.id, source: event.aggregateId, err: error }, "a confirmation was given up");
    },
  };
  return createOutboxPublisher({
    ...SETTINGS,
    ...{ pollMs: paces.outboxMs, publishTimeoutMs: paces.publishMs },
    ...{ pool: db, transport, whenFailed: "release", observer, clock, random },
  });
}
