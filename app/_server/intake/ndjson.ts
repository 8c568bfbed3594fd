import { DomainError } from "@/lib/platform/plain/problem.pure";

const NEWLINE = 0x0a;
const encoder = new TextEncoder();

/** One line without its end, or that a line was too long to keep. */
export type Line = { bytes: Uint8Array } | { tooLong: true };

/**
 * Splits a body into its lines, those of one chunk at a time; blank lines are skipped. What is held is a chunk and the
 * line it cuts. The next chunk is not asked for before the caller has dealt with the lines of this one, so that a sender
 * waits for the store. A line above `lineBytesMax` is passed over without being kept.
 */
export async function* linesOf(body: AsyncIterable<Uint8Array>, lineBytesMax: number): AsyncGenerator<Line[]> {
  let carry: Uint8Array[] = [];
  let carried = 0;
  let skipping = false;
  const take = (part: Uint8Array, into: Line[]) => {
    const tooLong = skipping || carried + part.byteLength > lineBytesMax;
    const bytes = carry.length === 0 || tooLong ? part : Buffer.concat([...carry, part]);
    [carry, carried, skipping] = [[], 0, false];
    if (tooLong) into.push({ tooLong: true });
    else if (!isBlank(bytes)) into.push({ bytes });
  };
  for await (const chunk of received(body)) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end), lines);
      start = end + 1;
    }
    const rest = chunk.subarray(start);
    carried += rest.byteLength;
    if (carried > lineBytesMax) [carry, skipping] = [[], true];
    else if (rest.byteLength > 0) carry.push(rest);
    if (lines.length > 0) yield lines;
  }
  const last: Line[] = [];
  if (carried > 0) take(new Uint8Array(), last);
  if (last.length > 0) yield last;
}

function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}

/** A body that breaks off is the sender's doing, not ours. */
async function* received(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError("invalid-request", "The request body was cut off: send the request again", {
      internal: error,
    });
  }
}

/** A response that is written as fast as it is read: `texts` is asked for the next piece only when there is room. */
export function streamResponse(texts: AsyncIterable<string>, headers: Record<string, string>): Response {
  const iterator = texts[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await iterator.return?.();
    },
  });
  return new Response(body, { headers: { "cache-control": "no-store", ...headers } });
}
