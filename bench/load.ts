import type { Db, Queryable } from "@/lib/platform/database/db";

/** Calls a second, and processor time of one call, microseconds. */
export type Load = { perSecond: number; cpuUs: number };

/** So many callers call one after the other for some seconds. `cpuMs` reads the processor time that counts. */
export async function loadOf(
  { callers, seconds, cpuMs }: { callers: number; seconds: number; cpuMs: () => number },
  call: (caller: number, n: number) => Promise<unknown>,
): Promise<Load> {
  let done = 0;
  const [startedCpuMs, startedMs] = [cpuMs(), performance.now()];
  const untilMs = startedMs + seconds * 1000;
  const loop = async (caller: number) => {
    for (let n = caller; performance.now() < untilMs; n += callers) {
      await call(caller, n);
      done++;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => loop(caller)));
  const perSecond = (done / (performance.now() - startedMs)) * 1000;
  return { perSecond, cpuUs: ((cpuMs() - startedCpuMs) * 1000) / done };
}

export type Statement = { text: string; values: unknown[]; name?: string };

/** Notes all statements that the connections send from now on, also those of transactions. `stop` puts the connections back. */
export function recording(dbs: readonly Db[]): { sent: Statement[]; stop(): void } {
  const sent: Statement[] = [];
  const noting = (send: Queryable["query"]) =>
    ((text: string, values: unknown[] = [], options: { name?: string } = {}) => {
      sent.push({ text, values: [...values], ...(options.name ? { name: options.name } : {}) });
      return send(text, values, options);
    }) as Queryable["query"];
  const plain = dbs.map(({ query, transaction }) => ({ query, transaction }));
  for (const [index, db] of dbs.entries()) {
    const { query, transaction } = plain[index]!;
    db.query = noting(query);
    db.transaction = (work, options) => transaction((tx) => work({ ...tx, query: noting(tx.query) }), options);
  }
  return { sent, stop: () => dbs.forEach((db, index) => void Object.assign(db, plain[index])) };
}
