import type { Connection, Delivery, Receiver, Session } from "rhea";
import { abortableWithin } from "@/lib/brokers/abortable";
import {
  Amqp10Fault,
  closeAmqp10,
  describeAmqp10,
  dropAmqp10,
  hostOf,
  onEnd,
  openAmqp10,
  openRawSession,
  type RawMessage,
  roomOf,
} from "@/lib/brokers/amqp10/connection";
import type { Amqp10Config } from "@/lib/brokers/amqp10/kind.shapes";
import { receive } from "@/lib/brokers/amqp10/message";
import { DeliveryBuffer } from "@/lib/brokers/delivery-buffer";
import type { AdapterDeps, Lag, Reader, ReadSession, Taken } from "@/lib/brokers/port";
import type { Clock } from "@/lib/platform/clock";

const CREDIT_DEFAULT = 500;
/** How long a batch waits for further messages after its first one. */
const LINGER_MS = 20;
const ATTACH_TIMEOUT_MS = 10_000;
/** A broker may count a connection that was lost as a failed delivery, and drop a message beyond its limit. */
const HOLD_FROM_DELIVERY_COUNT = 1;

export function amqp10Reader(config: Amqp10Config, { clock, addresses }: AdapterDeps): Reader<Delivery> {
  const credit = config.credit ?? CREDIT_DEFAULT;
  return {
    what: `address ${config.address}`,
    batchMax: Math.max(1, Math.floor(credit / 2)),
    holdFromDeliveries: HOLD_FROM_DELIVERY_COUNT,
    open: async (signal) => {
      const connection = await openAmqp10(config, { name: "parkade-source", clock, signal, addresses });
      try {
        return await AddressSession.open(connection, config, { credit, clock, signal });
      } catch (error) {
        dropAmqp10(connection);
        throw error;
      }
    },
    describe: (error) => describeAmqp10(error, config, config.address),
  };
}

/** Opens a receiving link without credit. Rejects with the broker's error. A browser gets copies; a broker without one says so in its source. */
export async function attach(
  session: Session,
  config: Amqp10Config,
  { browse, clock, signal }: { browse: boolean; clock: Clock; signal: AbortSignal },
): Promise<Receiver> {
  const attached = Promise.withResolvers<void>();
  const source = { address: config.address, ...(browse ? { distribution_mode: "copy" } : {}) };
  const receiver = session.open_receiver({ source, autoaccept: false, credit_window: 0 });
  // A link that is refused is attached without a source, and detached with the reason.
  receiver.on("receiver_open", () => {
    if (receiver.source?.address) attached.resolve();
  });
  const refused = () => attached.reject(receiver.error ?? new Amqp10Fault("AMQP_LINK_CLOSED", "the link was closed"));
  receiver.on("receiver_error", refused);
  receiver.on("receiver_close", refused);
  session.on("session_error", () => attached.reject(session.error));
  onEnd(session.connection, (error) => attached.reject(error));
  await abortableWithin(attached.promise, {
    signal,
    clock,
    ms: ATTACH_TIMEOUT_MS,
    late: () => new Amqp10Fault("ETIMEDOUT", `${hostOf(config)} does not answer for ${config.address}`),
  });
  return receiver;
}

class AddressSession implements ReadSession<Delivery> {
  readonly inHandMax: number;
  private readonly inbox = new DeliveryBuffer<RawMessage>();
  /** Handed to the loop and not settled. */
  private readonly inHand = new Set<Delivery>();
  private readonly connection: Connection;
  private readonly session: Session;
  private readonly receiver: Receiver;
  private readonly config: Amqp10Config;
  private readonly clock: Clock;

  private constructor(
    connection: Connection,
    { session, receiver }: { session: Session; receiver: Receiver },
    config: Amqp10Config,
    { credit, clock }: { credit: number; clock: Clock },
  ) {
    this.connection = connection;
    this.session = session;
    this.receiver = receiver;
    this.config = config;
    this.inHandMax = credit;
    this.clock = clock;
  }

  static async open(
    connection: Connection,
    config: Amqp10Config,
    { credit, clock, signal }: { credit: number; clock: Clock; signal: AbortSignal },
  ): Promise<AddressSession> {
    const session = openRawSession(connection);
    const receiver = await attach(session, config, { browse: false, clock, signal });
    const made = new AddressSession(connection, { session, receiver }, config, { credit, clock });
    const { inbox } = made;
    const lost = (error: unknown) =>
      inbox.fail(error ?? new Amqp10Fault("AMQP_NOT_CONNECTED", `lost ${hostOf(config)}`));
    onEnd(connection, lost);
    session.on("session_error", () => lost(session.error));
    session.on("session_close", () => lost(null));
    receiver.on("receiver_error", () => lost(receiver.error));
    receiver.on("receiver_close", () =>
      lost(new Amqp10Fault("AMQP_LINK_CLOSED", `${hostOf(config)} closed the link to ${config.address}`)),
    );
    receiver.on("message", (context: unknown) => inbox.push(context as RawMessage));
    receiver.add_credit(credit);
    return made;
  }

  async take(max: number, signal: AbortSignal, withinMs?: number): Promise<Taken<Delivery>[]> {
    if (roomOf(this.session) < this.inHandMax)
      throw new Amqp10Fault(
        "AMQP_SESSION_FULL",
        "a message could not be committed for too long: starting a new session",
      );
    const batch = await this.inbox.takeBatch(max, { signal, withinMs, lingerMs: LINGER_MS, clock: this.clock });
    return batch.map(({ message, delivery }) => {
      this.inHand.add(delivery);
      return { ...receive(message, this.config), handle: delivery };
    });
  }

  async acknowledge(deliveries: readonly Delivery[]): Promise<void> {
    for (const delivery of deliveries) {
      delivery.accept();
      this.inHand.delete(delivery);
    }
    this.receiver.add_credit(deliveries.length);
  }

  /** The protocol has no count of messages. */
  async lag(): Promise<Lag> {
    return { total: null, parts: [] };
  }

  assertOpen(): void {
    this.inbox.throwIfFailed();
  }

  async close(graceful: boolean): Promise<void> {
    if (!graceful) return dropAmqp10(this.connection);
    // rhea writes outcomes of neighbours that are set in one turn as one range, with the outcome of the first: a message
    // that is released right after an accepted one would be accepted, and lost.
    await new Promise((resolve) => setImmediate(resolve));
    // Released, never modified as failed: the broker would count our outage against the message.
    for (const delivery of this.inHand) delivery.release();
    for (const { delivery } of this.inbox.take(Number.POSITIVE_INFINITY)) delivery.release();
    this.receiver.close();
    await closeAmqp10(this.connection, this.clock);
  }
}
