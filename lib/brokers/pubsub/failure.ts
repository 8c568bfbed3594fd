import { type ServiceError, status } from "@grpc/grpc-js";
import { tlsFault } from "@/lib/brokers/coded-error";
import { errorInfosIn } from "@/lib/brokers/pubsub/wire";
import { ADDRESS_REFUSED } from "@/lib/platform/address-filter";

/** A failed request. The message names the resource, the cause and the fix, and never a credential. */
export class PubsubFault extends Error {
  override readonly name = "PubsubFault";
  /** `PUBSUB_NOT_FOUND`, `PUBSUB_PERMISSION_DENIED`, `ECONNREFUSED`, ... upper snake case. */
  readonly code: string;
  /** What became of single acknowledgement ids, by id, in the words of Google; the others of the request succeeded. */
  readonly failedIds: ReadonlyMap<string, string>;

  constructor(
    code: string,
    message: string,
    { cause, failedIds = new Map() }: { cause?: unknown; failedIds?: Map<string, string> } = {},
  ) {
    super(message, { cause });
    this.code = code;
    this.failedIds = failedIds;
  }
}

/** Our own gRPC took no answer of this size. */
export const ANSWER_TOO_LARGE = "PUBSUB_ANSWER_TOO_LARGE";

type Asked = { permission: string; resource: string; address: string };

/** gRPC hands on a failed connection as a text alone: the code of the socket is in it, that of TLS is not. */
const CONNECTION_TEXTS: [RegExp, string][] = [
  [/does not match certificate's altnames/, "ERR_TLS_CERT_ALTNAME_INVALID"],
  [/self[- ]signed certificate in certificate chain/, "SELF_SIGNED_CERT_IN_CHAIN"],
  [/self[- ]signed certificate/, "DEPTH_ZERO_SELF_SIGNED_CERT"],
  [/unable to get local issuer certificate/, "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
  [/unable to verify the first certificate/, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  [/certificate has expired/, "CERT_HAS_EXPIRED"],
  [/Name resolution failed/, "ENOTFOUND"],
  [/PARKADE_REFUSED_ADDRESSES/, ADDRESS_REFUSED],
];

function connectionCode(details: string): string | null {
  const known = CONNECTION_TEXTS.find(([text]) => text.test(details))?.[1];
  return known ?? /\b(?:connect|read|write) (E[A-Z]{4,})\b/.exec(details)?.[1] ?? null;
}

export function pubsubFault(error: ServiceError, asked: Asked): PubsubFault {
  const { details = "", code = status.UNKNOWN, metadata } = error;
  const { address } = asked;
  const network = code === status.UNAVAILABLE ? connectionCode(details) : null;
  if (network === ADDRESS_REFUSED) return new PubsubFault(network, details, { cause: error });
  if (network !== null)
    return new PubsubFault(network, tlsFault(network, address) ?? `cannot reach ${address} (${network})`, {
      cause: error,
    });
  if (code === status.RESOURCE_EXHAUSTED && /Received message larger than max/.test(details))
    return new PubsubFault(ANSWER_TOO_LARGE, `an answer of ${address} is too large: ${details}`, { cause: error });
  const failedIds = new Map<string, string>();
  for (const bytes of metadata?.get("grpc-status-details-bin") ?? [])
    for (const [id, said] of errorInfosIn(Buffer.from(bytes)).flatMap((info) => Object.entries(info)))
      if (/^(?:PERMANENT|TRANSIENT)_FAILURE_/.test(said)) failedIds.set(id, said);
  return new PubsubFault(`PUBSUB_${status[code] ?? "UNKNOWN"}`, wordsOf(code, details, asked), {
    cause: error,
    failedIds,
  });
}

/** `subscription orders` of `projects/p/subscriptions/orders`, with its project. */
export function words(resource: string): string {
  const [, project, kind = "", id] = resource.split("/");
  return `${kind.replace(/s$/, "")} ${id} of project ${project}`;
}

function wordsOf(code: status, details: string, { permission, resource, address }: Asked): string {
  const what = words(resource);
  switch (code) {
    case status.NOT_FOUND:
      return `${what} does not exist: check name and project (${address})`;
    case status.PERMISSION_DENIED:
      return `no permission ${permission} on ${what}: grant it; or ${what} does not exist, or Pub/Sub is not enabled in the project (${address})`;
    case status.UNAUTHENTICATED:
      return `${address} refuses the credentials: check the service account key, and that it was not deleted`;
    case status.RESOURCE_EXHAUSTED:
      return `${address} accepts no more for ${what}, because a quota is exhausted: ${details}`;
    case status.DEADLINE_EXCEEDED:
      return `${address} did not answer in time for ${what}`;
    case status.UNAVAILABLE:
      return `lost ${address}: ${details}`;
    case status.FAILED_PRECONDITION:
      return `${what} is in the wrong state: ${details} (a push, BigQuery or Cloud Storage subscription cannot be pulled)`;
    default:
      return `${address} answered ${status[code] ?? code} for ${what}: ${details}`;
  }
}
