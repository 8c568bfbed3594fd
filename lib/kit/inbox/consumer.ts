import { type Confirmation, confirmProcessed } from "@/lib/kit/inbox/confirm";
import { type Processed, type ProcessOptions, processOnce } from "@/lib/kit/inbox/process-once";
import type { Shield } from "@/lib/kit/inbox/shield";
import type { InsertOptions } from "@/lib/kit/outbox/insert";
import type { SqlSession } from "@/lib/kit/sql";

export type InboxOptions<Session extends SqlSession> = Omit<ProcessOptions, "version"> & {
  consumer: string;
  /** Runs `work` in a transaction of its own: commits when it resolves, rolls back when it rejects. */
  transaction: <T>(work: (tx: Session) => Promise<T>) => Promise<T>;
  shield?: Shield;
  /** The outbox that confirmations go into, see `confirmProcessed`. */
  outbox?: InsertOptions;
};

type EventOptions = Pick<ProcessOptions, "version"> & {
  /** Confirms to Parkade that this event of the source was processed, now or before. For redriven events alone. */
  confirm?: Pick<Confirmation, "source" | "producer">;
};

export type Inbox<Session extends SqlSession> = {
  /** As `processOnce`, in a transaction of its own, with the shield before it. */
  process<T>(eventId: string, work: (tx: Session) => Promise<T>, options?: EventOptions): Promise<Processed<T>>;
};

export function createInbox<Session extends SqlSession>({
  consumer,
  transaction,
  shield,
  outbox,
  ...tables
}: InboxOptions<Session>): Inbox<Session> {
  const confirmed = async (eventId: string, { confirm }: EventOptions, tx: SqlSession) => {
    if (confirm !== undefined) await confirmProcessed(tx, { ...confirm, eventId, consumer }, outbox);
  };
  /** A delivery from before the redrive has processed it, and Parkade does not know. */
  const confirmDuplicate = (eventId: string, options: EventOptions) =>
    options.confirm === undefined ? undefined : transaction((tx) => confirmed(eventId, options, tx));
  return {
    process: async (eventId, work, { version, ...options } = {}) => {
      if (await shield?.knows(consumer, eventId)) {
        await confirmDuplicate(eventId, options);
        return { status: "duplicate" };
      }
      const workAndConfirm: typeof work = async (tx) => {
        const value = await work(tx);
        await confirmed(eventId, options, tx);
        return value;
      };
      const result = await transaction((tx) =>
        processOnce(tx, consumer, eventId, workAndConfirm, { ...tables, ...(version && { version }) }),
      );
      if (result.status === "duplicate") await confirmDuplicate(eventId, options);
      // After the commit. A duplicate was committed before: its key was lost or has expired.
      await shield?.remember(consumer, eventId);
      return result;
    },
  };
}
