import { isReferenceOnly } from "@/lib/brokers/conventions/convention";
import { headerBlock, unsendable } from "@/lib/brokers/nats/header-block";
import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import { outboundHeaders } from "@/lib/brokers/outbound-headers";
import { type OutboundMessage, PublishError } from "@/lib/brokers/port";
import { headerText, identityOf } from "@/lib/platform/plain/dead-letter.pure";

type NatsOutbound = { subject: string; block: Buffer; payload: Uint8Array };

function refuse(code: string, message: string): PublishError {
  return new PublishError(code, message, { sent: "no" });
}

/** Words of the message or of an operator may stand in a subject: a wildcard there would be none for NATS. */
const SUBJECT = /^[^\s.*>]+(\.[^\s.*>]+)*$/;

function subjectOf(
  { origin, headers }: OutboundMessage,
  { redriveTo, slowLaneSubject }: NatsConfig,
  lane: string,
): string {
  if (lane === "slow" && slowLaneSubject !== undefined) return slowLaneSubject;
  const { subject, subjectHeader, stripPrefix } = redriveTo ?? {};
  const named = headers.find(([name]) => name.toLowerCase() === subjectHeader?.toLowerCase());
  const readFrom = (origin.deadLetter as { subject?: unknown } | undefined)?.subject;
  const stripped =
    typeof readFrom === "string" && stripPrefix !== undefined && readFrom.startsWith(stripPrefix)
      ? readFrom.slice(stripPrefix.length)
      : null;
  const found = subject ?? (named && headerText(named)) ?? origin.subject ?? stripped;
  if (typeof found === "string" && SUBJECT.test(found)) return found;
  throw refuse(
    "NATS_NO_ORIGIN_SUBJECT",
    "the message does not name the subject it was published to: set redriveTo.subject, subjectHeader or stripPrefix in the source's configuration",
  );
}

/** The NATS message of one attempt. Throws PublishError (`sent: "no"`) when the event cannot be sent as it is. */
export function outboundOf(message: OutboundMessage, config: NatsConfig, lane: "main" | "slow"): NatsOutbound {
  const { origin, redriveId, attempt, payload } = message;
  if (isReferenceOnly(origin))
    throw refuse("NATS_REFERENCE_ONLY", "the stream did not hold this message any more: there is nothing to send");
  const subject = subjectOf(message, config, lane);
  // The names of NATS are instructions to it: deduplication, expectations, schedules, expiry.
  const own = outboundHeaders(message).filter(([name]) => !/^nats-/i.test(name));
  const faulty = own.map(unsendable).find((fault) => fault !== null);
  if (faulty !== undefined) throw refuse("NATS_INVALID_HEADER", `${faulty}: change or remove it`);
  const id = `${encodeURIComponent(identityOf(message).toWellFormed())}:r${redriveId}:${attempt}`;
  const block = headerBlock([
    ...own,
    // A stream drops a message whose id it has seen in its window, and says that it was stored: each send has its own.
    ["Nats-Msg-Id", Buffer.from(id)],
    ...(config.redriveTo?.expectStream && typeof origin.stream === "string" && subject === origin.subject
      ? [["Nats-Expected-Stream", Buffer.from(origin.stream)] satisfies [string, Buffer]]
      : []),
  ]);
  return { subject, block, payload };
}
