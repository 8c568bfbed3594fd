import tls from "node:tls";
import {
  type ChannelOptions,
  Client,
  type ClientUnaryCall,
  connectivityState,
  credentials as grpcCredentials,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { abortable } from "@/lib/brokers/abortable";
import type { AdapterDeps, OnPhase } from "@/lib/brokers/port";
import { checkedTarget } from "@/lib/brokers/pubsub/checked-resolver";
import { PubsubFault, pubsubFault } from "@/lib/brokers/pubsub/failure";
import { type PubsubConfig, resourceName } from "@/lib/brokers/pubsub/kind.shapes";
import type { Login } from "@/lib/brokers/pubsub/login";
import { type Method, type Methods, methodOf, type Subscription } from "@/lib/brokers/pubsub/wire";
import { systemClock } from "@/lib/platform/clock";

const GOOGLE = "https://pubsub.googleapis.com";
/** Above one answer of Pull with messages of the greatest size. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;
const ANSWER_TIMEOUT_MS = 30_000;
/** For a question about something small, asked to see whether the server is there. */
const SMALL_TIMEOUT_MS = 10_000;

const OPTIONS: ChannelOptions = {
  "grpc.max_receive_message_length": ANSWER_BYTES_MAX,
  "grpc.max_send_message_length": -1,
  // The engine repeats sends and the park loop repeats reads: gRPC repeating too would multiply them.
  "grpc.enable_retries": 0,
  // The connections of a client end with it, instead of being kept for the next one.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.initial_reconnect_backoff_ms": 250,
  "grpc.max_reconnect_backoff_ms": 2_000,
  // The interval of Google's own client: servers end a connection that asks more often.
  "grpc.keepalive_time_ms": 300_000,
};

/** The permission that Google wants for each method. */
const PERMISSIONS: Record<Method, string> = {
  Publish: "pubsub.topics.publish",
  GetTopic: "pubsub.topics.get",
  GetSubscription: "pubsub.subscriptions.get",
  Pull: "pubsub.subscriptions.consume",
  Acknowledge: "pubsub.subscriptions.consume",
  ModifyAckDeadline: "pubsub.subscriptions.consume",
  TestIamPermissions: "none",
};

/** gRPC takes instants of the machine's own clock, and not of the database's, which is the wall clock of the adapters. */
const deadlineIn = (ms: number) => systemClock.wallMs() + ms;

/** Loads Google's library at its first use (an emulator needs none), by a file of ours: a bundle names no exports of CommonJS packages. */
async function loginOf({ credentials, endpoint = GOOGLE }: PubsubConfig): Promise<Login> {
  const { hostname } = new URL(endpoint);
  // The token of the machine is worth all that its account may do: whoever names an endpoint must not receive it.
  if (credentials === undefined && !/(?:^|\.)googleapis\.com$/.test(hostname))
    throw new PubsubFault(
      "PUBSUB_NO_CREDENTIALS",
      `application default credentials are sent only to googleapis.com: set credentials for ${hostname}`,
    );
  const { applicationDefaultLogin, serviceAccountLogin } = await import("@/lib/brokers/pubsub/login");
  return credentials === undefined ? await applicationDefaultLogin() : serviceAccountLogin(credentials);
}

function connectionOf({ endpoint = GOOGLE, tls: given = {} }: PubsubConfig, deps: ConnectDeps): Client {
  const { protocol, hostname, port } = new URL(endpoint);
  const isPlain = protocol === "http:";
  const [target, looked] = checkedTarget(`${hostname}:${port || (isPlain ? 80 : 443)}`, deps);
  const { ca, cert, key, servername } = given;
  const named = servername === undefined ? {} : { "grpc.ssl_target_name_override": servername };
  const options = { ...OPTIONS, ...looked, ...named };
  if (isPlain) return new Client(target, grpcCredentials.createInsecure(), options);
  // grpc-js refuses these two alone in createSsl.
  if ((cert === undefined) !== (key === undefined))
    throw new PubsubFault("PUBSUB_BAD_TLS", "tls.cert and tls.key must be set together: set both or neither");
  try {
    // As createSsl makes it, which takes Node's own suites in the place of those of this process.
    const context = tls.createSecureContext({ ca, key, cert, ciphers: tls.DEFAULT_CIPHERS });
    const encryption = grpcCredentials.createFromSecureContext(context);
    return new Client(target, encryption, options);
  } catch (error) {
    throw new PubsubFault("PUBSUB_BAD_TLS", "tls.ca, tls.cert or tls.key cannot be read: give PEM text", {
      cause: error,
    });
  }
}

type ConnectDeps = Pick<AdapterDeps, "addresses" | "clock">;

export type CallOptions = {
  signal?: AbortSignal;
  timeoutMs?: number;
  onPhase?: OnPhase;
};

/** The requests of one source over one connection. A failed one rejects with PubsubFault, or with the reason of its signal. */
export class PubsubClient {
  /** For people: `pubsub.googleapis.com`. */
  readonly address: string;
  readonly subscription: string;
  private readonly config: PubsubConfig;
  private readonly deps: ConnectDeps;
  private client: Client | null = null;
  private login: Promise<Login> | null = null;
  private readonly calls = new Set<ClientUnaryCall>();

  constructor(config: PubsubConfig, deps: ConnectDeps) {
    this.config = config;
    this.deps = deps;
    this.address = new URL(config.endpoint ?? GOOGLE).host;
    this.subscription = resourceName(config, "subscriptions", config.subscription);
  }

  /** Throws PubsubFault for a certificate or a key that is none. */
  private get grpc(): Client {
    this.client ??= connectionOf(this.config, this.deps);
    return this.client;
  }

  async call<M extends Method>(method: M, request: Methods[M][0], options: CallOptions = {}): Promise<Methods[M][1]> {
    const { signal = new AbortController().signal, timeoutMs = ANSWER_TIMEOUT_MS, onPhase } = options;
    signal.throwIfAborted();
    const metadata = await abortable(this.metadata(request), signal);
    const isConnected = await abortable(this.connected(), signal);
    if (isConnected) onPhase?.("connected");
    const { path, requestSerialize, responseDeserialize } = methodOf(method);
    const { promise, resolve, reject } = Promise.withResolvers<Methods[M][1]>();
    // Not connected: it fails at once, with the reason.
    const call = this.grpc.makeUnaryRequest(
      path,
      requestSerialize,
      responseDeserialize,
      request,
      metadata,
      { deadline: deadlineIn(timeoutMs) },
      (error, answer) => {
        this.calls.delete(call);
        if (error === null) resolve(answer!);
        else reject(pubsubFault(error as ServiceError, this.asked(method, request)));
      },
    );
    this.calls.add(call);
    if (isConnected) call.on("metadata", () => onPhase?.("answering"));
    return await abortable(promise, signal, () => call.cancel());
  }

  private asked(method: Method, request: object) {
    return { permission: PERMISSIONS[method], resource: resourceOf(request), address: this.address };
  }

  /** What Google would answer to a request without its permission. */
  denied(method: Method, request: object): PubsubFault {
    return pubsubFault({ code: status.PERMISSION_DENIED } as ServiceError, this.asked(method, request));
  }

  /** What a request is sent with. Nothing secret goes to an endpoint without encryption. */
  private async metadata(request: object): Promise<Metadata> {
    const metadata = new Metadata();
    metadata.set("x-goog-request-params", `${Object.keys(request)[0]}=${encodeURIComponent(resourceOf(request))}`);
    if (this.config.endpoint?.toLowerCase().startsWith("http:")) return metadata;
    try {
      this.login ??= loginOf(this.config);
      const headers = await (await this.login).getRequestHeaders(`${GOOGLE}/`);
      for (const [name, value] of headers) metadata.set(name, value);
      return metadata;
    } catch (error) {
      this.login = null;
      if (error instanceof PubsubFault) throw error;
      throw this.config.credentials === undefined
        ? new PubsubFault(
            "PUBSUB_NO_CREDENTIALS",
            "no application default credentials found, or they cannot be used: set credentials, or give the worker a service account",
            { cause: error },
          )
        : new PubsubFault(
            "PUBSUB_BAD_CREDENTIALS",
            "the private_key of the credentials cannot be read: give the JSON key as it was downloaded",
            { cause: error },
          );
    }
  }

  /** Whether there is a connection, made now if need be. Rejects when the server does not answer at all. */
  private async connected(): Promise<boolean> {
    const channel = this.grpc.getChannel();
    const deadline = deadlineIn(CONNECT_TIMEOUT_MS);
    for (;;) {
      const state = channel.getConnectivityState(true);
      if (state === connectivityState.READY) return true;
      if (state === connectivityState.TRANSIENT_FAILURE || state === connectivityState.SHUTDOWN) return false;
      await new Promise<void>((resolve, reject) => {
        channel.watchConnectivityState(state, deadline, (late) => {
          if (late === undefined) resolve();
          else reject(new PubsubFault("ETIMEDOUT", `cannot reach ${this.address} (ETIMEDOUT)`, { cause: late }));
        });
      });
    }
  }

  /** Which of `permissions` the credentials have; null where the server does not say, as an emulator. Needs no permission itself. */
  async permitted(resource: string, permissions: string[], options: CallOptions = {}): Promise<string[] | null> {
    try {
      const request = { resource, permissions };
      return (await this.call("TestIamPermissions", request, { timeoutMs: SMALL_TIMEOUT_MS, ...options })).permissions;
    } catch (error) {
      if (error instanceof PubsubFault && error.code === "PUBSUB_UNIMPLEMENTED") return null;
      throw error;
    }
  }

  /** What the subscription of the source is; null when the credentials may not ask. Rejects when it cannot be pulled. */
  async inspect(signal: AbortSignal): Promise<Subscription | null> {
    const { subscription } = this;
    const found = await this.subscriptionAt(subscription, signal).catch((error: unknown) => {
      if (error instanceof PubsubFault && error.code === "PUBSUB_PERMISSION_DENIED") return null;
      throw error;
    });
    const permitted = await this.permitted(subscription, [PERMISSIONS.Pull], { signal });
    if (permitted?.length === 0) throw this.denied("Pull", { subscription });
    if (found?.pushConfig?.pushEndpoint)
      throw new PubsubFault(
        "PUBSUB_FAILED_PRECONDITION",
        `${subscription} pushes to an address: make a pull subscription of the dead-letter topic for Parkade`,
      );
    return found;
  }

  subscriptionAt(subscription: string, signal: AbortSignal): Promise<Subscription> {
    return this.call("GetSubscription", { subscription }, { signal, timeoutMs: SMALL_TIMEOUT_MS });
  }

  /** Ends the connection and what waits for an answer. */
  close(): void {
    for (const call of this.calls) call.cancel();
    this.client?.close();
  }
}

function resourceOf(request: object): string {
  return String(Object.values(request)[0]);
}
