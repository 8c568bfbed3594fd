import { readAuditEntries } from "@/lib/guard/audit/audit-list.read";
import { readSealBatch } from "@/lib/guard/audit-chain/verification.read";
import { type SealedEntry, syslogMessage } from "@/lib/guard/audit-syslog/syslog-message.pure";
import {
  mayAloneSend,
  noteBegun,
  noteSent,
  readSyslogPositions,
  type SyslogPosition,
} from "@/lib/guard/audit-syslog/syslog-positions.write";
import type { SyslogServer } from "@/lib/guard/audit-syslog/syslog-server";
import type { Clock } from "@/lib/platform/clock";
import type { Db, Tx } from "@/lib/platform/database/db";
import type { Log } from "@/lib/platform/log";
import { iso } from "@/lib/platform/plain/iso-time.pure";

const WAIT_MS_MIN = 1_000;
const WAIT_MS_MAX = 60_000;
/** Entries in memory, beside the messages. */
const READ_MAX = 50;

export type SyslogDeps = { db: Db; clock: Clock; log: Log; server: SyslogServer; hostname: string };

/**
 * A round that sends what was sealed and not sent yet, each chain in the order of its seals: at least once, because the position
 * is stored after the server has it. Of several workers one sends at a time. While the server is away the round rejects, asks
 * it after waits that double, and sends less at a time.
 */
export function createSyslogSender(deps: SyslogDeps): (signal?: AbortSignal) => Promise<void> {
  const { clock, server } = deps;
  let limit = server.messagesMax;
  let away: { error: unknown; waitMs: number; untilMs: number } | null = null;
  return async (signal) => {
    // The same error again: for the log the round fails until something was sent.
    if (away !== null && clock.nowMs() < away.untilMs) throw away.error;
    try {
      while (!signal?.aborted && (await sendBatch(deps, limit, signal)))
        limit = Math.min(limit * 2, server.messagesMax);
      away = null;
    } catch (error) {
      if (signal?.aborted) return;
      limit = Math.ceil(limit / 4);
      const waitMs = Math.min(away === null ? WAIT_MS_MIN : away.waitMs * 2, WAIT_MS_MAX);
      away = { error, waitMs, untilMs: clock.nowMs() + waitMs };
      throw error;
    }
  };
}

/** Sends some of each chain. True = another batch may be sent at once. */
async function sendBatch(deps: SyslogDeps, limit: number, signal?: AbortSignal): Promise<boolean> {
  const positions = await readSyslogPositions(deps.db);
  if (!positions.every(({ known }) => known)) await noteBegun(deps.db);
  if (!positions.some(waits)) return false;
  return deps.db.transaction(async (tx) => {
    if (!(await mayAloneSend(tx))) return false;
    const position = (await readSyslogPositions(tx)).find(waits);
    if (position === undefined) return false;
    if (!position.same)
      deps.log.error(
        { scope: position.scope, seq: position.seq },
        "the audit is not the one that was sent: it is sent anew",
      );
    await sendSome(tx, position, { ...deps, limit, signal });
    // Datagrams that come at once are lost.
    return deps.server.messageBytesMax === null;
  });
}

const startOf = ({ same, seq }: SyslogPosition) => (same ? seq : 0);
const waits = (position: SyslogPosition) => startOf(position) < position.headSeq;

async function sendSome(
  tx: Tx,
  position: SyslogPosition,
  { server, hostname, limit, signal }: SyslogDeps & { limit: number; signal: AbortSignal | undefined },
): Promise<void> {
  const messages: string[] = [];
  let bytes = 0;
  let last: SealedEntry | null = null;
  for await (const sealed of readSealed(tx, position, limit)) {
    const message = syslogMessage(sealed, { hostname, bytesMax: server.messageBytesMax });
    bytes += message.length;
    if (messages.length > 0 && bytes > server.bytesMax) break;
    messages.push(message);
    last = sealed;
  }
  await server.send(messages, signal);
  await noteSent(tx, last!);
}

/** The next of a chain, a few at a time: an entry may be as large as what it is about. */
async function* readSealed(tx: Tx, position: SyslogPosition, limit: number): AsyncGenerator<SealedEntry, void> {
  let after = startOf(position);
  for (let left = limit; left > 0; left -= READ_MAX) {
    const seals = await readSealBatch(tx, position.scope, { after, limit: Math.min(left, READ_MAX) });
    const entries = await readAuditEntries(tx, [...new Set(seals.map(({ entryId }) => entryId))]);
    for (const { sealedAtMs, ...seal } of seals)
      yield { ...seal, sealedAt: iso(sealedAtMs), entry: entries.get(seal.entryId) ?? null };
    if (seals.length < READ_MAX) return;
    after = seals.at(-1)!.seq;
  }
}
