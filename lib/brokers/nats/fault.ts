import { JetStreamApiError } from "@nats-io/jetstream";
import {
  AuthorizationError,
  ClosedConnectionError,
  NoRespondersError,
  PermissionViolationError,
  TimeoutError,
  UserAuthenticationExpiredError,
} from "@nats-io/transport-node";
import { CodedError, tlsFault } from "@/lib/brokers/coded-error";
import type { NatsConfig } from "@/lib/brokers/nats/kind.shapes";
import { ADDRESS_REFUSED, addressRefusal } from "@/lib/platform/address-filter";

/** A failure with words for people. `code`: `NATS_PERMISSIONS_VIOLATION`, `NATS_10059`, `ECONNREFUSED`, ... */
export class NatsFault extends CodedError {
  override readonly name = "NatsFault";
}

/** The error and what it holds, outermost first. */
export function* linksOf(error: unknown): Iterable<Error & { code?: unknown }> {
  let link = error;
  for (let depth = 0; link instanceof Error && depth < 8; depth++) {
    yield link;
    link = link instanceof AggregateError ? link.errors[0] : link.cause;
  }
}

const NODE_CODE = /^(E[A-Z_]+|CERT_[A-Z_]+|[A-Z_]*SELF_SIGNED_CERT\w*|UNABLE_TO_[A-Z_]+|ERR_(?:TLS|SSL)_[A-Z0-9_]+)$/;

export function addressOf({ servers }: Pick<NatsConfig, "servers">): string {
  return servers.join(", ");
}

/** A failure of the client, the server or the socket, in words that name the cause and the fix. No secrets. */
export function natsFault(error: unknown, config: NatsConfig): NatsFault {
  const where = addressOf(config);
  const said = (code: string, message: string) => new NatsFault(code, message, error);
  const refused = addressRefusal(error);
  if (refused !== null) return said(ADDRESS_REFUSED, `cannot connect to ${where}: ${refused.message}`);
  for (const link of linksOf(error)) {
    if (link instanceof NatsFault) return link;
    if (link instanceof AuthorizationError)
      return said(
        "NATS_AUTHORIZATION_VIOLATION",
        `${where} refuses the login: check user and password, token or creds`,
      );
    if (link instanceof UserAuthenticationExpiredError)
      return said("NATS_AUTHORIZATION_VIOLATION", `the credentials for ${where} have expired`);
    if (link instanceof PermissionViolationError)
      return said(
        "NATS_PERMISSIONS_VIOLATION",
        `no permission to ${link.operation === "publish" ? "publish" : "subscribe"} to ${link.subject} on ${where}: grant it`,
      );
    if (link instanceof JetStreamApiError) return apiFault(link.code, link.message, config, error);
    if (link instanceof NoRespondersError || link.name === "JetStreamNotEnabled")
      return said("NATS_NO_RESPONDERS", `JetStream does not answer at ${where}: it is not enabled for this account`);
    if (link instanceof TimeoutError || link.name === "TimeoutError")
      return said("NATS_TIMEOUT", `${where} did not answer in time`);
    if (link instanceof ClosedConnectionError) return said("NATS_CONNECTION_CLOSED", `lost ${where}`);
    if (typeof link.code === "string" && NODE_CODE.test(link.code))
      return said(link.code, tlsFault(link.code, where) ?? `cannot reach ${where} (${link.code})`);
  }
  const text = error instanceof Error ? error.message : String(error);
  // The client's only word for a server that speaks TLS alone, or none, or something else.
  return said("NATS_NOT_CONNECTED", `cannot use ${where} as a NATS server: ${text}`);
}

/** https://github.com/nats-io/nats-server/blob/main/server/errors.json */
function apiFault(code: number, description: string, config: NatsConfig, cause: unknown): NatsFault {
  const where = addressOf(config);
  const { stream, read } = config;
  if (code === 10059 && read === "advisories")
    return new NatsFault(
      "NATS_10059",
      `stream ${stream} does not exist on ${where}: set createStream, or run: ${createCommand(stream)}`,
      cause,
    );
  if (code === 10059) return new NatsFault("NATS_10059", `stream ${stream} does not exist on ${where}`, cause);
  if (code === 10065 && read === "advisories")
    return new NatsFault(
      "NATS_10065",
      `another stream of this account captures these advisories: name it in stream, not ${stream}`,
      cause,
    );
  if (code === 10039 || code === 10076)
    return new NatsFault(`NATS_${code}`, `JetStream is not enabled for this account on ${where}`, cause);
  return new NatsFault(`NATS_${code}`, `${where} answered: ${description}`, cause);
}

/** Both kinds of advisory that a dead letter is made of. */
export const ADVISORIES = ["MAX_DELIVERIES", "MSG_TERMINATED"].map((type) => `$JS.EVENT.ADVISORY.CONSUMER.${type}.>`);

function createCommand(stream: string): string {
  return `nats stream add ${stream} --subjects '${ADVISORIES.join(",")}' --storage file --defaults`;
}
