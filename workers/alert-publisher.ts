import { checkedFetch } from "@/lib/brokers/checked-connector";
import { AccessTokens } from "@/lib/brokers/http/access-token";
import { signatureHeaders } from "@/lib/brokers/http/request-signature";
import { PublishError } from "@/lib/brokers/port";
import type { SecretVariables } from "@/lib/guard/redaction/secret-references.pure";
import type { Message, MessageResult } from "@/lib/kit/outbox/message";
import { createOutboxPublisher, type OutboxPublisher } from "@/lib/kit/outbox/publisher";
import { failureOf, toReceivers } from "@/lib/kit/outbox/transports/send-each";
import { readChannelConfig } from "@/lib/observe/channels/channels.read";
import { channelUrlFault } from "@/lib/observe/channels/channels.shapes";
import { ALERT_OUTBOX } from "@/lib/observe/channels/notify-channels";
import { type Carriers, ChannelRefusal, sendAlert, UnresolvedSecret } from "@/lib/observe/channels/send-alert";
import type { AddressFilter } from "@/lib/platform/address-filter";
import { addressRefusal } from "@/lib/platform/address-filter";
import type { Clock } from "@/lib/platform/clock";
import type { Db } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";
import { sendMail } from "@/lib/platform/mail";
import type { Paces } from "@/lib/platform/plain/paces.pure";
import type { Random } from "@/lib/retry/clock";
import { parseRetryAfter } from "@/lib/retry/retry-after";
import { resolveAddress, resolveSecret } from "./resolve-reference";

/** An alert that is tried for a day is history: 25 refusals, over about an hour and a half. An outage counts for none. */
const SETTINGS = { concurrency: 2, batch: 50, maxAttempts: 25 };
/** The delivery log goes back this long. */
const KEEP_SENT_MS = 30 * 86_400_000;
const CONNECT_MS = 5_000;

type PublisherDeps = {
  db: Db;
  clock: Clock;
  random: Random;
  log: Log;
  addresses: AddressFilter;
  secrets: SecretVariables;
  paces: Pick<Paces, "messagesMs" | "publishMs">;
};

/** Sends the messages about alerts to their channels. A receiver that is away or slow holds up no other. */
export function startAlertPublisher({
  db,
  clock,
  random,
  log,
  addresses,
  secrets,
  paces,
}: PublisherDeps): OutboxPublisher {
  /** By their settings. */
  const clients = new Map<string, AccessTokens>();
  const carriers: Carriers = {
    fetch: checkedFetch(addresses, CONNECT_MS),
    sign: (secret, { id, body }) => signatureHeaders({ secret }, { id, atMs: clock.wallMs(), body }),
    mail: ({ from, to, ...server }, mail, signal) => sendMail(server, { from, to, ...mail }, { addresses, signal }),
    resolveAddress: (text) => resolveAddress(text, secrets, channelUrlFault),
    resolveSecret: (text, host) => resolveSecret(text, host, secrets),
    tokens: (settings) => {
      const key = JSON.stringify(settings);
      const tokens = clients.get(key) ?? new AccessTokens(settings, { clock, addresses });
      clients.set(key, tokens);
      return tokens;
    },
  };
  const publish = async (message: Message, signal: AbortSignal) => {
    const channel = await readChannelConfig(db, message.destination);
    // Deleted after the message was claimed.
    if (channel !== null) await sendAlert(carriers, channel.config, message, signal);
  };
  const transport = toReceivers(publish, (error) => judge(error, clock.wallMs()));
  const observer = {
    failed: ({ event, error, final }: { event: Message; error: unknown; final: boolean }) => {
      const facts = { messageId: event.id, channel: event.destination, err: error };
      if (final) log.error(facts, "a message about an alert was given up");
      else log.warn(facts, "a message about an alert is tried again");
    },
    outage: ({ error }: { error: unknown }) => log.warn({ err: error }, "messages about alerts wait"),
  };
  return createOutboxPublisher({
    ...SETTINGS,
    ...{ pollMs: paces.messagesMs, publishTimeoutMs: paces.publishMs },
    ...{ pool: db, table: ALERT_OUTBOX, transport, observer, clock, random },
    whenFailed: "release",
    keepSentMs: KEEP_SENT_MS,
  });
}

/** A refusal counts, a permanent one ends the message; an address that may not be reached is no outage of it. */
function judge(error: unknown, wallMs: number): MessageResult {
  const refused = addressRefusal(error);
  if (refused !== null) return { ok: false, error: refused, permanent: true };
  // Settings that are corrected in time lose no message.
  const refusedClient = error instanceof PublishError && error.code === "OAUTH_REFUSED";
  if (error instanceof UnresolvedSecret || refusedClient) return { ok: false, error };
  const retryAfterMs = error instanceof ChannelRefusal ? parseRetryAfter(error.retryAfter ?? "", wallMs) : null;
  return { ...failureOf(error), ...(retryAfterMs === null ? {} : { retryAfterMs }) } as MessageResult;
}
