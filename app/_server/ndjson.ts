import { DomainError } from "@/lib/core/problem";

const NEWLINE = 0x0a;
const encoder = new TextEncoder();

/** One line without its end, or that a line was too long to keep. */
export type Line = { bytes: Uint8Array } | { tooLong: true };

/**
 * Splits a body into its lines, holding one line and one chunk at a time; blank lines are skipped. The next chunk is
 * not asked for before the caller has dealt with the lines of this one, so that a sender waits for the store. A line
 * above `lineBytesMax` is passed over without being kept.
 */
export async function* linesOf(body: AsyncIterable<Uint8Array>, lineBytesMax: number): AsyncGenerator<Line> {
  let carry: Uint8Array[] = [];
  let carried = 0;
  let skipping = false;
  const take = (part: Uint8Array): Line | null => {
    const parts = [...carry, part];
    const tooLong = skipping || carried + part.byteLength > lineBytesMax;
    [carry, carried, skipping] = [[], 0, false];
    if (tooLong) return { tooLong: true };
    const bytes = parts.length === 1 ? part : Buffer.concat(parts);
    return isBlank(bytes) ? null : { bytes };
  };
  for await (const chunk of received(body)) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = take(chunk.subarray(start, end));
      start = end + 1;
      if (line) yield line;
    }
    const rest = chunk.subarray(start);
    carried += rest.byteLength;
    if (carried > lineBytesMax) [carry, skipping] = [[], true];
    else if (rest.byteLength > 0) carry.push(rest);
  }
  if (carried > 0) {
    const line = take(new Uint8Array());
    if (line) yield line;
  }
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

/** A body that breaks off is the sender's doing, not ours. */
export async function* received(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk;
  } catch (error) {
    if (error instanceof DomainError) throw error;
    throw new DomainError("invalid-request", "The request ended before its body did: send it again", {
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
