import { type Family, judged } from "@/lib/retry/classify/classifier";
import { memberOf, numberOf } from "@/lib/retry/classify/facts";
import {
  AWAY,
  CANCELLED,
  type CodeRule,
  NOT_SENT,
  PERMANENT,
  THROTTLED,
  tableOf,
  UNKNOWN,
} from "@/lib/retry/classify/verdict";

/** A publish without an ack is unknown: repeat it with its Nats-Msg-Id. Sources: nats.js core errors, nats-server server/errors.json. */
const CODES = tableOf<CodeRule>({
  NATS_NO_RESPONDERS: NOT_SENT,
  NATS_TIMEOUT: UNKNOWN,
  NATS_CONNECTION_CLOSED: UNKNOWN,
  NATS_CONNECTION_REFUSED: AWAY,
  NATS_DISCONNECT: UNKNOWN,
  NATS_DRAINING: AWAY,
  NATS_AUTHORIZATION_VIOLATION: PERMANENT,
  NATS_PERMISSIONS_VIOLATION: PERMANENT,
  NATS_MAX_PAYLOAD_EXCEEDED: PERMANENT,
  NATS_INVALID_SUBJECT: PERMANENT,
  NATS_NOT_CONNECTED: AWAY,
  // The adapter's own: a person must edit the message or configure its source.
  NATS_NO_ORIGIN_SUBJECT: PERMANENT,
  NATS_INVALID_HEADER: PERMANENT,
  NATS_REFERENCE_ONLY: PERMANENT,
  // Our own side closed the publisher: the message has not failed.
  NATS_CLOSED: CANCELLED,
});

const NAMES = tableOf<string>({
  NoRespondersError: "NATS_NO_RESPONDERS",
  ClosedConnectionError: "NATS_CONNECTION_CLOSED",
  DrainingConnectionError: "NATS_DRAINING",
  AuthorizationError: "NATS_AUTHORIZATION_VIOLATION",
  UserAuthenticationExpiredError: "NATS_AUTHORIZATION_VIOLATION",
  PermissionViolationError: "NATS_PERMISSIONS_VIOLATION",
  InvalidSubjectError: "NATS_INVALID_SUBJECT",
});

const JETSTREAM = tableOf<CodeRule>({
  10008: AWAY, // cluster not available: no meta leader yet
  10009: AWAY, // no cluster leader
  10023: THROTTLED, // insufficient resources
  10047: THROTTLED, // storage resources exceeded
  10028: THROTTLED, // memory resources exceeded
  10054: PERMANENT, // message size exceeds the stream's maximum
  10059: PERMANENT, // stream not found
  10060: PERMANENT, // expected stream does not match
  10070: PERMANENT, // wrong last msg id
  10071: PERMANENT, // wrong last sequence
  10039: PERMANENT, // JetStream not enabled for the account
  10076: PERMANENT, // JetStream not enabled
  10077: NOT_SENT, // stream store failed: nothing was stored
});

export const NATS_ERRORS: Family = {
  byCode({ code, link }) {
    const errCode = numberOf(link.err_code) ?? numberOf(memberOf(link.api_error, "err_code"));
    if (errCode !== null) return judged(`NATS_${errCode}`, jetStreamRule(errCode)) ?? null;
    return typeof code === "string" ? judged(code, natsRule(code)) : undefined;
  },
  byName(name) {
    const code = NAMES[name];
    return code === undefined ? undefined : judged(code, natsRule(code));
  },
};

function natsRule(code: string): CodeRule | null {
  const numbered = /^NATS_(\d{5})$/.exec(code);
  return CODES[code] ?? (numbered ? jetStreamRule(Number(numbered[1])) : null);
}

function jetStreamRule(errCode: number): CodeRule | null {
  return JETSTREAM[errCode] ?? null;
}
