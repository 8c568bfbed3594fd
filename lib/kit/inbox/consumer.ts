import { type Processed, type ProcessOptions, processOnce } from "@/lib/kit/inbox/process-once";
import type { Shield } from "@/lib/kit/inbox/shield";
import type { SqlSession } from "@/lib/kit/sql";

export type InboxOptions<Session extends SqlSession> = Omit<ProcessOptions, "version"> & {
  consumer: string;
  /** Runs `work` in a transaction of its own: commits when it resolves, rolls back when it rejects. */
  transaction: <T>(work: (tx: Session) => Promise<T>) => Promise<T>;
  shield?: Shield;
};

export type Inbox<Session extends SqlSession> = {
  /** As `processOnce`, in a transaction of its own, with the shield before it. */
  process<T>(
    eventId: string,
    work: (tx: Session) => Promise<T>,
    options?: Pick<ProcessOptions, "version">,
  ): Promise<Processed<T>>;
};

export function createInbox<Session extends SqlSession>({
  consumer,
  transaction,
  shield,
  ...tables
}: InboxOptions<Session>): Inbox<Session> {
  return {
    process: async (eventId, work, options) => {
      if (await shield?.knows(consumer, eventId)) return { status: "duplicate" };
      const result = await transaction((tx) => processOnce(tx, consumer, eventId, work, { ...tables, ...options }));
      // After the commit. A duplicate was committed before: its key was lost or has expired.
      await shield?.remember(consumer, eventId);
      return result;
    },
  };
}
