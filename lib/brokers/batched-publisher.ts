import {
  type OnPhase,
  type OutboundMessage,
  PublishError,
  type PublishPhase,
  type PublishReceipt,
} from "@/lib/brokers/port";

export type BatchOutcome = PublishReceipt | PublishError;

type Waiting = {
  message: OutboundMessage;
  signal: AbortSignal;
  onPhase: OnPhase;
  resolve: (receipt: PublishReceipt) => void;
  reject: (error: unknown) => void;
};

/**
 * Sends messages and resolves with one outcome for each, in their order; a message that the broker refuses does not harm
 * the others. Rejects when nothing is known of any of them: each then fails with that error. `signal` fires when every
 * message of the batch has been given up. `onPhase` is called with each phase that the message at `index` has reached.
 */
export type PublishMany = (
  batch: readonly OutboundMessage[],
  signal: AbortSignal,
  onPhase: (index: number, phase: PublishPhase) => void,
) => Promise<BatchOutcome[]>;

/**
 * `publish` made of `publishMany`: what is asked for while a batch is on its way, or in the same turn of the event loop,
 * goes out together. No message waits for others to come. Each message keeps its own signal: one that is given up before
 * its batch leaves is not sent; afterwards it is ambiguous for its caller, and its batch goes on.
 */
export class BatchedPublisher {
  private readonly publishMany: PublishMany;
  private readonly batchMax: number;
  private readonly inFlightMax: number;
  private waiting: Waiting[] = [];
  private inFlight = 0;
  private scheduled = false;

  constructor(publishMany: PublishMany, { batchMax, inFlightMax }: { batchMax: number; inFlightMax: number }) {
    this.publishMany = publishMany;
    this.batchMax = batchMax;
    this.inFlightMax = inFlightMax;
  }

  publish(message: OutboundMessage, signal: AbortSignal, onPhase: OnPhase = () => undefined): Promise<PublishReceipt> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<PublishReceipt>();
    const one = { message, signal, onPhase, resolve, reject };
    const givenUp = () => {
      this.waiting = this.waiting.filter((other) => other !== one);
      reject(signal.reason);
    };
    signal.addEventListener("abort", givenUp, { once: true });
    this.waiting.push(one);
    if (!this.scheduled) {
      this.scheduled = true;
      // After the promises of this turn: a slice that sends twenty messages makes one batch of them.
      setImmediate(() => this.flush());
    }
    return promise.finally(() => signal.removeEventListener("abort", givenUp));
  }

  private flush(): void {
    this.scheduled = false;
    while (this.waiting.length > 0 && this.inFlight < this.inFlightMax) {
      void this.send(this.waiting.splice(0, this.batchMax));
    }
  }

  private async send(batch: Waiting[]): Promise<void> {
    this.inFlight += 1;
    const allGivenUp = new AbortController();
    let open = batch.length;
    for (const { signal } of batch) {
      signal.addEventListener(
        "abort",
        () => {
          open -= 1;
          if (open === 0) allGivenUp.abort(signal.reason);
        },
        { once: true, signal: allGivenUp.signal },
      );
    }
    try {
      const outcomes = await this.publishMany(
        batch.map(({ message }) => message),
        allGivenUp.signal,
        (index, phase) => batch[index]!.onPhase(phase),
      );
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined)
          reject(new PublishError("NO_OUTCOME", "the broker returned no result for this message", { sent: "maybe" }));
        else if (outcome instanceof PublishError) reject(outcome);
        else resolve(outcome);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      allGivenUp.abort();
      this.inFlight -= 1;
      this.flush();
    }
  }
}
