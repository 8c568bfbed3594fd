import type { Pool } from "undici";
import { BatchedPublisher, type BatchOutcome, type PublishMany } from "@/lib/brokers/batched-publisher";
import type { Authorizer } from "@/lib/brokers/http/access-token";
import { BATCH_TYPES, type BatchResult, bodyOf, entryOf, outcomeOf, resultsOf } from "@/lib/brokers/http/batch-form";
import {
  excerptOf,
  type Hints,
  hintsOf,
  type Request,
  refusal,
  send,
  withAuthorization,
} from "@/lib/brokers/http/exchange";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { signatureNames } from "@/lib/brokers/http/request";
import { signatureHeaders, webhookIdOf } from "@/lib/brokers/http/request-signature";
import { type OnPhase, type OutboundMessage, PublishError } from "@/lib/brokers/port";
import type { Clock } from "@/lib/platform/clock";

/** Requests under way at a time: the next batch is formed while others are answered. */
const BATCHES_AT_ONCE = 8;

type Line = { pool: Pool; path: string; address: string; authorizer: Authorizer };

/** What is asked for at once goes out in one request, and each event has the answer that the target gives for it; null = not asked for. */
export function batchedPublisher(line: Line, config: HttpConfig, clock: Clock): BatchedPublisher | null {
  const { batch } = config;
  if (batch === undefined) return null;
  const publishMany: PublishMany = async (messages, signal, onPhase) => {
    const outcomes: BatchOutcome[] = [];
    const portions = portionsOf(messages, config, outcomes);
    await Promise.all(
      portions.map(async ({ indexes, entries }) => {
        const request = {
          keys: indexes.map((index) => messages[index]!.idempotencyKey),
          body: bodyOf(entries, batch.format),
          onPhase: (phase: Parameters<OnPhase>[0]) => {
            for (const index of indexes) onPhase(index, phase);
          },
        };
        const results = await sendBatch(line, request, { config, atMs: clock.wallMs(), signal });
        for (const [at, index] of indexes.entries()) outcomes[index] = results[at]!;
      }),
    );
    return outcomes;
  };
  return new BatchedPublisher(publishMany, { batchMax: batch.events, inFlightMax: BATCHES_AT_ONCE });
}

type Portion = { indexes: number[]; entries: Uint8Array[]; size: number };

/** What goes into one request. The outcome of an event that has no place in a batch is put into `outcomes`. */
function portionsOf(messages: readonly OutboundMessage[], config: HttpConfig, outcomes: BatchOutcome[]): Portion[] {
  const { format, bytes } = config.batch!;
  const portions: Portion[] = [];
  for (const [index, message] of messages.entries()) {
    try {
      const entry = entryOf(message, format, config);
      let last = portions.at(-1);
      if (last === undefined || last.size + entry.byteLength > bytes) {
        last = { indexes: [], entries: [], size: 0 };
        portions.push(last);
      }
      last.indexes.push(index);
      last.entries.push(entry);
      last.size += entry.byteLength;
    } catch (error) {
      if (!(error instanceof PublishError)) throw error;
      outcomes[index] = error;
    }
  }
  return portions;
}

/** Resolves with the outcome of each key. An answer to the request as a whole is that of each event. */
async function sendBatch(
  { pool, path, address, authorizer }: Line,
  { keys, body, onPhase }: { keys: string[]; body: Uint8Array; onPhase: OnPhase },
  { config, atMs, signal }: { config: HttpConfig; atMs: number; signal: AbortSignal },
): Promise<BatchOutcome[]> {
  const headers = [...fixedHeaders(config), "content-type", BATCH_TYPES[config.batch!.format]];
  if (config.signing !== undefined) {
    headers.push(...Object.entries(signatureHeaders(config.signing, { id: webhookIdOf(...keys), atMs, body })).flat());
  }
  const request: Request = { pool, path, method: "POST", headers, body, readsBody: true, onPhase };
  try {
    const authorized = (authorization: string | null) => {
      request.headers = withAuthorization(headers, authorization);
      return send(request, address, signal);
    };
    const answer = await authorizer.send(authorized, signal, onPhase);
    if (answer.status < 200 || answer.status >= 300) return keys.map(() => refusal(answer, address));
    const results = resultsOf(answer.body?.toString("utf8") ?? "");
    const refused = ({ status, retryAfter, detail = "" }: BatchResult) => {
      const said = excerptOf(detail === "" ? [] : [Buffer.from(detail)], request);
      return refusal({ ...answer, ...ownHints(retryAfter), status, excerpt: said }, address);
    };
    return keys.map((key) => outcomeOf(results.get(key), { address, refusal: refused }));
  } catch (error) {
    if (error instanceof PublishError) return keys.map(() => error);
    throw error;
  }
}

/** A fixed header of a signature's name would stand beside the signature. */
function fixedHeaders({ headers = {}, signing }: HttpConfig): string[] {
  const signature = signatureNames(signing);
  return Object.entries(headers).flatMap((pair) => (signature.includes(pair[0].toLowerCase()) ? [] : pair));
}

function ownHints(retryAfter: string | number | undefined): Hints {
  return { ...hintsOf({}), retryAfter: retryAfter === undefined ? null : String(retryAfter) };
}
