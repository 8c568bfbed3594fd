import {
  AckPolicy,
  type ConsumerInfo,
  type ConsumerMessages,
  type ConsumerUpdateConfig,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  type JsMsg,
  jetstream,
  jetstreamManager,
  StorageType,
} from "@nats-io/jetstream";
import { type Msg, type NatsConnection, nanos, PermissionViolationError } from "@nats-io/transport-node";
import { abortable } from "@/lib/brokers/abortable";
import { readDeadLetter } from "@/lib/brokers/conventions/read-dead-letter";
import { DeliveryBuffer } from "@/lib/brokers/delivery-buffer";
import { connectNats, storedMessage } from "@/lib/brokers/nats/connection";
import { ADVISORIES, linksOf, NatsFault, natsFault } from "@/lib/brokers/nats/fault";
import { type NatsConfig, nats } from "@/lib/brokers/nats/kind.shapes";
import { advisedMessage, advisoryOf, deadLetterMessage, type FromStream } from "@/lib/brokers/nats/message";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import { atMost, type Clock } from "@/lib/platform/clock";
import type { DeadLetter } from "@/lib/platform/plain/dead-letter.pure";

const BATCH_MAX = 250;
/** Messages that NATS hands out at a time, and that may wait for an acknowledgement. */
const IN_HAND_MAX = 1_000;
/** Messages that the client asks for ahead. */
const AHEAD_MAX = 500;
/** How long a batch waits for further messages after its first one. */
const LINGER_MS = 20;
const ACK_WAIT_SECONDS_DEFAULT = 60;
/** Originals that are fetched at a time. */
const FETCHES_MAX = 32;
/** How long, on stop, the server may take to take back what was not acknowledged. */
const HAND_BACK_MS = 2_000;

/** Names of consumers are parts of subjects. */
function consumerName({ consumer }: NatsConfig, source: string): string {
  return consumer ?? `parkade_${source.replace(/[^A-Za-z0-9_-]/g, "_")}`;
}

export function natsReader(config: NatsConfig, source: string, deps: AdapterDeps): Reader<JsMsg> {
  return {
    what: nats.reads(config)!,
    batchMax: BATCH_MAX,
    // Only a consumer with max_deliver counts: there, `deliveries` is above 0.
    holdFromDeliveries: 1,
    open: async (signal, tell) => {
      const nc = await connectNats(config, `parkade source ${source}`, deps, signal);
      try {
        return await abortable(
          StreamSession.open(nc, { config, durable: consumerName(config, source), clock: deps.clock, tell }),
          signal,
        );
      } catch (error) {
        await nc.close().catch(() => undefined);
        throw error;
      }
    },
    describe: (error) => natsFault(error, config).message,
  };
}

/** Tells a consumer that Parkade has made from one that was there. */
const DESCRIPTION = "dead letters read by Parkade";

/**
 * The consumer with the subjects and the acknowledgement wait of the source: they may have been changed since it was made.
 * A consumer that somebody else has made is not changed. Throws NatsFault when its subjects differ from the source's.
 */
async function asConfigured(jsm: JetStreamManager, config: NatsConfig, info: ConsumerInfo): Promise<ConsumerInfo> {
  const { stream_name: stream, name, config: present } = info;
  const ackWait = config.ackWaitSeconds === undefined ? null : nanos(config.ackWaitSeconds * 1000);
  const subjects = present.filter_subjects ?? (present.filter_subject ? [present.filter_subject] : []);
  const isOwn = present.description === DESCRIPTION;
  const wanted = config.filter === undefined ? (isOwn ? [] : subjects) : [config.filter];
  const sameSubjects = subjects.length === wanted.length && subjects.every((subject) => wanted.includes(subject));
  if (!isOwn && !sameSubjects)
    throw new NatsFault(
      "NATS_UNFIT_CONSUMER",
      `consumer ${name} of stream ${stream} reads ${subjects.join(", ") || "all subjects"}, not ${config.filter}: change it, or name another one in consumer`,
    );
  const sameWait =
    present.ack_wait === (ackWait ?? (isOwn ? nanos(ACK_WAIT_SECONDS_DEFAULT * 1000) : present.ack_wait));
  if (sameSubjects && (sameWait || !isOwn)) return info;
  const change = { filter_subject: wanted[0], ack_wait: ackWait ?? nanos(ACK_WAIT_SECONDS_DEFAULT * 1000) };
  // Without a subject the consumer reads all of them; the type of the client knows no way to take one away.
  return await jsm.consumers.update(stream, name, change as Partial<ConsumerUpdateConfig>);
}

/** The settings of Parkade's own consumer, made when it is missing. */
async function ownConsumer(jsm: JetStreamManager, config: NatsConfig, durable: string): Promise<ConsumerInfo> {
  const { stream, filter, ackWaitSeconds } = config;
  try {
    const info = await jsm.consumers.info(stream, durable);
    if (info.config.ack_policy === AckPolicy.Explicit && info.config.deliver_subject === undefined)
      return await asConfigured(jsm, config, info);
    throw new NatsFault(
      "NATS_UNFIT_CONSUMER",
      `consumer ${durable} of stream ${stream} is not a pull consumer with explicit acknowledgements: name another one in consumer`,
    );
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound)) throw error;
  }
  return await jsm.consumers.add(stream, {
    durable_name: durable,
    description: DESCRIPTION,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos((ackWaitSeconds ?? ACK_WAIT_SECONDS_DEFAULT) * 1000),
    max_ack_pending: IN_HAND_MAX,
    ...(filter === undefined ? {} : { filter_subject: filter }),
  });
}

/** Read advisories stay in the stream, which several sources may share: without an age limit it would fill the disk. */
const ADVISORIES_KEPT_MS = 30 * 86_400_000;

async function ensureStream(jsm: JetStreamManager, { stream }: NatsConfig): Promise<void> {
  try {
    await jsm.streams.info(stream);
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound)) throw error;
    const max_age = nanos(ADVISORIES_KEPT_MS);
    await jsm.streams.add({ name: stream, subjects: ADVISORIES, storage: StorageType.File, max_age });
  }
}

/** The bytes of the headers, which the client decodes at a loss: order between names, and bytes that are no text. */
function headerBytes(message: JsMsg): Uint8Array | null {
  const { _rdata, _msg } = (message as unknown as { msg: Msg & { _rdata?: Uint8Array; _msg?: { hdr: number } } }).msg;
  if (_rdata !== undefined && _msg !== undefined) return _msg.hdr > 0 ? _rdata.subarray(0, _msg.hdr) : null;
  throw new NatsFault("NATS_CLIENT_CHANGED", "this version of the NATS client hides the bytes of headers");
}

type SessionOptions = { config: NatsConfig; clock: Clock; tell: (notice: string) => void };

/** The account may not read the stream that an advisory names. Advisories of other streams can be read. */
function isOriginDenied(error: unknown): boolean {
  return [...linksOf(error)].some(
    (link) => link instanceof PermissionViolationError && /^\$JS\..*\bSTREAM\.MSG\.GET\./.test(link.subject),
  );
}

class StreamSession implements ReadSession<JsMsg> {
  readonly inHandMax = IN_HAND_MAX;
  private readonly inbox = new DeliveryBuffer<JsMsg>();
  /** Handed out by NATS and not acknowledged. */
  private readonly held = new Set<JsMsg>();
  private readonly ending = new AbortController();
  private readonly nc: NatsConnection;
  private readonly jsm: JetStreamManager;
  private readonly config: NatsConfig;
  private readonly info: ConsumerInfo;
  private readonly clock: Clock;
  private readonly tell: (notice: string) => void;
  private messages: ConsumerMessages | null = null;

  private constructor(
    nc: NatsConnection,
    jsm: JetStreamManager,
    { config, clock, tell }: SessionOptions,
    info: ConsumerInfo,
  ) {
    this.nc = nc;
    this.jsm = jsm;
    this.config = config;
    this.info = info;
    this.clock = clock;
    this.tell = tell;
  }

  static async open(nc: NatsConnection, session: SessionOptions & { durable: string }): Promise<StreamSession> {
    const { config, durable } = session;
    const options = { checkAPI: false, ...(config.domain === undefined ? {} : { domain: config.domain }) };
    const jsm = await jetstreamManager(nc, options);
    if (config.createStream) await ensureStream(jsm, config);
    const info = await ownConsumer(jsm, config, durable);
    const made = new StreamSession(nc, jsm, session, info);
    made.watch();
    const consumer = jetstream(nc, options).consumers.getConsumerFromInfo(info);
    made.messages = await consumer.consume({ max_messages: AHEAD_MAX, abort_on_missing_resource: true });
    void made.receive(made.messages);
    void made.keepHeld();
    return made;
  }

  /** Errors of NATS come beside the calls: a permission that is missing, a connection that is lost. */
  private watch(): void {
    const { nc, inbox } = this;
    void (async () => {
      for await (const status of nc.status())
        if (status.type === "error" && !isOriginDenied(status.error)) inbox.fail(status.error);
    })();
    void nc
      .closed()
      .then((error) => inbox.fail(error ?? new NatsFault("NATS_CONNECTION_CLOSED", "the connection ended")));
  }

  private async receive(messages: ConsumerMessages): Promise<void> {
    try {
      for await (const message of messages) {
        this.held.add(message);
        this.inbox.push(message);
      }
      throw new NatsFault("NATS_CONSUMER_GONE", `the consumer of stream ${this.config.stream} was deleted`);
    } catch (error) {
      this.inbox.fail(error);
    }
  }

  /** Tells NATS three times in each acknowledgement wait that the messages in hand are being worked on. */
  private async keepHeld(): Promise<void> {
    const waitMs = (this.info.config.ack_wait ?? nanos(30_000)) / 1_000_000;
    for (;;) {
      try {
        await this.clock.sleep(waitMs / 3, this.ending.signal);
      } catch {
        return; // the session ended
      }
      for (const message of this.held) message.working();
    }
  }

  async take(max: number, signal: AbortSignal, withinMs?: number): Promise<Taken<JsMsg>[]> {
    const batch = await this.inbox.takeBatch(max, { signal, withinMs, lingerMs: LINGER_MS, clock: this.clock });
    const counts = (this.info.config.max_deliver ?? -1) > 0;
    const taken: Taken<JsMsg>[] = [];
    for (let from = 0; from < batch.length; from += FETCHES_MAX) {
      const part = batch.slice(from, from + FETCHES_MAX);
      const letters = await Promise.all(part.map((message) => this.letterOf(message)));
      for (const [index, handle] of part.entries())
        if (letters[index] !== null)
          taken.push({ letter: letters[index]!, handle, deliveries: counts ? handle.info.deliveryCount - 1 : 0 });
    }
    return taken;
  }

  /** null = the original may not be read: the others of the batch go on, and NATS hands the advisory out again. */
  private async letterOf(message: JsMsg): Promise<DeadLetter | null> {
    const { subject, seq, data, info } = message;
    const from: FromStream = {
      stream: info.stream,
      subject,
      seq,
      timeNanos: String(message.timestampNanos),
      headers: headerBytes(message),
      data,
    };
    try {
      return await letterFrom(this.nc, this.config, from);
    } catch (error) {
      if (!isOriginDenied(error)) throw error;
      this.tell(natsFault(error, this.config).message);
      this.held.delete(message);
      return null;
    }
  }

  async acknowledge(messages: readonly JsMsg[]): Promise<void> {
    for (const message of messages) {
      message.ack();
      this.held.delete(message);
    }
    await this.flush();
  }

  /** Resolves when the server has read what was written. The client's own promise outlives a connection that is lost. */
  private async flush(): Promise<void> {
    const lost = this.nc.closed().then(() => this.inbox.throwIfFailed());
    await Promise.race([this.nc.flush(), lost]);
  }

  async lag(): Promise<Lag> {
    const { num_pending, num_ack_pending } = await this.jsm.consumers.info(this.info.stream_name, this.info.name);
    return { total: num_pending + num_ack_pending, parts: [] };
  }

  assertOpen(): void {
    this.inbox.throwIfFailed();
  }

  async close(graceful: boolean): Promise<void> {
    this.ending.abort();
    // When the connection is lost, NATS hands the messages out again when their acknowledgement wait ends.
    if (graceful) await atMost(this.clock, HAND_BACK_MS, this.handBack()).catch(() => undefined);
    await this.nc.close().catch(() => undefined);
  }

  private async handBack(): Promise<void> {
    this.messages?.stop();
    // The requests for more messages are ended before what they brought is returned.
    await this.flush();
    for (const message of this.held) message.nak();
    await this.flush();
  }
}

/** An advisory is replaced by its message, fetched before the stream drops it; one that is gone is parked as a reference. */
export async function letterFrom(nc: NatsConnection, config: NatsConfig, from: FromStream): Promise<DeadLetter> {
  const advisory = config.read === "advisories" && from.data !== null ? advisoryOf(from.data) : null;
  if (advisory === null) return readDeadLetter(deadLetterMessage(from), config.mapping ?? {});
  const { stream, stream_seq: seq } = advisory;
  let stored = null;
  try {
    stored = await storedMessage(nc, config, { stream, seq });
  } catch (error) {
    // The whole stream is gone.
    if (!(error instanceof NatsFault && error.code === "NATS_10059")) throw error;
  }
  const original = stored ?? { subject: "", headers: null, data: null, timeNanos: null };
  return readDeadLetter(advisedMessage({ ...original, stream, seq }, advisory, from), config.mapping ?? {});
}
