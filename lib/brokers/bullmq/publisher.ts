import type { JobsOptions } from "bullmq";
import { abortable } from "@/lib/brokers/abortable";
import {
  describeStore,
  type JobStore,
  openJobStore,
  storeAddress,
  storeCode,
  wasRefused,
} from "@/lib/brokers/bullmq/job-store";
import type { BullmqConfig } from "@/lib/brokers/bullmq/kind.shapes";
import { jobKey, MARKS, newJobId } from "@/lib/brokers/bullmq/marks";
import { originText, redriveMarks } from "@/lib/brokers/conventions/redrive-mark";
import { HeldConnection } from "@/lib/brokers/held-connection";
import {
  type AdapterDeps,
  type OnPhase,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishReceipt,
} from "@/lib/brokers/port";
import { probed } from "@/lib/brokers/probe-sample";
import { identityOf } from "@/lib/platform/plain/dead-letter.pure";
import { parseExact } from "@/lib/platform/plain/exact-json.pure";

/** For how long a queue that was found counts as existing. */
const QUEUE_KNOWN_MS = 30_000;

/** `addedAtMs`: tells it from another job of the same id. */
type OriginJob = {
  id: string;
  name: string;
  addedAtMs?: number;
  options?: JobsOptions;
  parent?: string;
  scheduler?: string;
};

function refuse(code: string, message: string): PublishError {
  return new PublishError(code, message, { sent: "no" });
}

function gone(id: string, queue: string): PublishError {
  return refuse("BULLMQ_JOB_GONE", `job ${id} is no longer in ${queue}: set redriveTo.mode to new-job`);
}

/** The payload as a value that `JSON.stringify`, which BullMQ calls, writes with all digits. Spaces are not kept. */
function exactValue(payload: Uint8Array): unknown {
  try {
    return parseExact(Buffer.from(payload).toString("utf8"));
  } catch {
    throw refuse("BULLMQ_NOT_JSON", "the data of a job must be JSON: mend the payload");
  }
}

function jobOf(message: OutboundMessage): OriginJob | null {
  const job = message.origin.job as Partial<OriginJob> | undefined;
  return typeof job?.id === "string" ? { ...job, id: job.id, name: job.name ?? "redrive" } : null;
}

/**
 * A store that sends share. `suspect`: a send was given up before it was answered, and none was answered since. `retired`:
 * further sends use another one; it is closed when its last send has ended.
 */
type SharedStore = { store: JobStore; sends: number; suspect: boolean; retired: boolean; close(): Promise<void> };

/** Retries failed jobs in their place, or adds new ones. Every effect is checked: BullMQ ignores what it cannot do. */
export class BullmqPublisher implements Publisher {
  private readonly config: BullmqConfig;
  private readonly lane: "main" | "slow";
  private readonly deps: AdapterDeps;
  private readonly stores: HeldConnection<SharedStore>;
  private readonly knownUntilMs = new Map<string, number>();

  constructor(config: BullmqConfig, lane: "main" | "slow", deps: AdapterDeps) {
    this.config = config;
    this.lane = lane;
    this.deps = deps;
    this.stores = new HeldConnection<SharedStore>(
      async (signal) => {
        const store = await openJobStore(config, { name: "parkade-redrive", signal }, deps);
        return { store, sends: 0, suspect: false, retired: false, close: () => store.close() };
      },
      ({ store }) => isOpen(store),
    );
  }

  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    signal.throwIfAborted();
    const { redriveTo, slowLaneQueue } = this.config;
    const slow = this.lane === "slow" ? slowLaneQueue : undefined;
    const isNew = slow !== undefined || redriveTo?.mode === "new-job";
    const target = slow ?? redriveTo?.queue ?? message.origin.queue ?? this.config.queue;
    const shared = await this.open(signal);
    onPhase?.("connected");
    shared.sends += 1;
    const { store } = shared;
    const sending = isNew ? this.addNew(store, message, target) : this.retry(store, message);
    const answered = () => {
      shared.suspect = false;
    };
    sending.then(answered, (error) => {
      if (error instanceof PublishError || wasRefused(error)) answered();
    });
    try {
      return await abortable(sending, signal, () => {
        shared.suspect = true;
      });
    } catch (error) {
      if (signal.aborted || error instanceof PublishError) throw error;
      const refused = wasRefused(error);
      if (!refused) this.retire(shared);
      const sent = refused ? "no" : "maybe";
      throw new PublishError(storeCode(error), describeStore(error, this.config), { sent, cause: error });
    } finally {
      shared.sends -= 1;
      if (shared.retired && shared.sends === 0) void shared.close().catch(() => undefined); // no send needs it
    }
  }

  private async open(signal: AbortSignal): Promise<SharedStore> {
    if (this.stores.closed) throw refuse("BULLMQ_CLOSED", "the publisher is closed");
    try {
      const shared = await this.stores.use(signal);
      if (!shared.suspect) return shared;
      this.retire(shared);
      return await this.stores.use(signal);
    } catch (error) {
      signal.throwIfAborted();
      throw new PublishError(storeCode(error), describeStore(error, this.config), { sent: "no", cause: error });
    }
  }

  /** The next send opens another store. Sends under way keep this one: one slow send must not cut off the others. */
  private retire(shared: SharedStore): void {
    shared.retired = true;
    this.stores.forget(shared);
    if (shared.sends === 0) void shared.close().catch(() => undefined); // it is lost, or silent
  }

  /** The failed job waits again, with all its attempts. Only a job that is failed is touched. */
  private async retry(store: JobStore, message: OutboundMessage): Promise<PublishReceipt> {
    const origin = jobOf(message);
    if (origin === null)
      throw refuse("BULLMQ_NO_JOB", "the event does not name its original job: set redriveTo.mode to new-job");
    const name = message.origin.queue ?? this.config.queue;
    const queue = store.queue(name);
    const job = await queue.getJob(origin.id);
    if (job === undefined || job === null) throw gone(origin.id, name);
    if (origin.addedAtMs !== undefined && origin.addedAtMs !== job.timestamp)
      throw refuse(
        "BULLMQ_JOB_GONE",
        `job ${origin.id} of ${name} is another one: the queue was emptied and counts from 1 again. Set redriveTo.mode to new-job`,
      );
    const stored = await store.stored(name, origin.id);
    if (stored === null) throw gone(origin.id, name);
    const { data, marks } = stored;
    const state = await job.getState();
    if (state !== "failed") {
      const { redrive } = marks;
      // The answer to an earlier send was lost, not its effect.
      if (redrive?.redriveId === message.redriveId) return { status: `job ${origin.id} is ${state}, by this redrive` };
      throw refuse(
        "BULLMQ_NOT_FAILED",
        `job ${origin.id} of ${name} is ${state}, not failed: it was already retried elsewhere`,
      );
    }
    if (data !== Buffer.from(message.payload).toString("utf8"))
      await job.updateData(exactValue(message.payload) as never);
    const redrive = { redriveId: message.redriveId, attempt: message.attempt };
    const place = originText(message.origin);
    await store.mark(name, origin.id, { ...marks, redrive, ...(place === null ? {} : { origin: place }) });
    await job.retry("failed", { resetAttemptsMade: true, resetAttemptsStarted: true });
    return { status: `job ${origin.id} is waiting again` };
  }

  private async addNew(store: JobStore, message: OutboundMessage, target: string): Promise<PublishReceipt> {
    const origin = jobOf(message);
    if (origin?.parent !== undefined)
      throw refuse(
        "BULLMQ_FLOW",
        `job ${origin.id} is a child of the flow of ${origin.parent}: a new job would not be, so retry it in place`,
      );
    const data = exactValue(message.payload);
    if (!(await this.isThere(store, target)))
      throw refuse("BULLMQ_NO_QUEUE", `queue ${target} does not exist on ${storeAddress(this.config)}`);
    const key =
      origin === null
        ? encodeURIComponent(identityOf(message))
        : jobKey({ id: origin.id, timestamp: origin.addedAtMs ?? 0 });
    const id = newJobId(key, message);
    // A delay or a deduplication of the first job would hold back or swallow the new one.
    const { delay: _, deduplication: __, timestamp: ___, ...options } = origin?.options ?? {};
    // A job has no headers: a consumer finds the marks in the options of the job.
    const marked = { ...options, jobId: id, [MARKS]: redriveMarks(message) };
    const job = await store.queue(target).add(origin?.name ?? "redrive", data, marked);
    if (job.id !== id)
      throw refuse(
        "BULLMQ_NOT_ADDED",
        `${target} did not accept the new job: it already has ${job.id} under the same deduplication id`,
      );
    // The new job is there: whatever prevents the removal of the first one, the message was sent.
    if (origin !== null && this.config.redriveTo?.keepOriginal !== true)
      await this.removeFailed(store, message, origin).catch(() => undefined);
    return { status: `job ${id} of ${target}` };
  }

  /** An add to a queue that nobody works would succeed, and its job would wait for ever. */
  private async isThere(store: JobStore, queue: string): Promise<boolean> {
    if ((this.knownUntilMs.get(queue) ?? 0) > this.deps.clock.nowMs()) return true;
    if (!(await store.exists(queue))) return false;
    this.knownUntilMs.set(queue, this.deps.clock.nowMs() + QUEUE_KNOWN_MS);
    return true;
  }

  /** The new job stands for it. One that is not failed any more is somebody else's business. */
  private async removeFailed(store: JobStore, message: OutboundMessage, origin: OriginJob): Promise<void> {
    const job = await store.queue(message.origin.queue ?? this.config.queue).getJob(origin.id);
    if (job === undefined || job === null || job.timestamp !== (origin.addedAtMs ?? job.timestamp)) return;
    if ((await job.getState()) !== "failed") return;
    await job.remove(); // rejects when it is locked, or removed by another
  }

  probe(signal: AbortSignal): Promise<ProbeResult> {
    const look = async () => {
      const store = await openJobStore(this.config, { name: "parkade-probe", signal }, this.deps);
      await store.close();
      return { detail: `connected to ${storeAddress(this.config)}` };
    };
    return probed(signal, look, (error) => describeStore(error, this.config));
  }

  close(): Promise<void> {
    return this.stores.close();
  }
}

function isOpen(store: JobStore): boolean {
  try {
    store.assertOpen();
    return true;
  } catch {
    return false;
  }
}
