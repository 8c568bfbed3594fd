import type { MsgHdrs } from "@nats-io/transport-node";
import type { WireHeader } from "@/lib/brokers/outbound-headers";

const FIRST_LINE = Buffer.from("NATS/1.0");
const NAME = /^[\x21-\x39\x3b-\x7e]+$/;

/** Why a header cannot go into a block; null when it can. */
export function unsendable([name, value]: WireHeader): string | null {
  if (!NAME.test(name)) return `header ${JSON.stringify(name)} is no name for NATS`;
  return value?.some((byte) => byte === 0x0a || byte === 0x0d) ? `header ${name} holds a line break` : null;
}

/** Headers as NATS writes them, with their order, duplicates and bytes. The client's class groups names and takes text alone. */
export function headerBlock(headers: readonly WireHeader[]): Buffer {
  const lines = headers.flatMap(([name, value]) => [Buffer.from(`\r\n${name}: `, "latin1"), value ?? Buffer.alloc(0)]);
  return Buffer.concat([FIRST_LINE, ...lines, Buffer.from("\r\n\r\n")]);
}

/** A block for a publish of the client, which asks its headers for their bytes and for nothing else. */
export function asHeaders(block: Buffer): MsgHdrs {
  return { encode: () => block } as unknown as MsgHdrs;
}

/** The headers of a block in their order. A line that is none is left out. */
export function headersOf(block: Uint8Array | null): [name: string, value: Buffer][] {
  if (block === null) return [];
  const bytes = Buffer.from(block.buffer, block.byteOffset, block.byteLength);
  const headers: [string, Buffer][] = [];
  let at = bytes.indexOf("\r\n") + 2;
  while (at > 1 && at < bytes.length) {
    const end = bytes.indexOf("\r\n", at);
    const line = bytes.subarray(at, end < 0 ? bytes.length : end);
    const colon = line.indexOf(0x3a);
    // Writers put a space behind the colon, which is not part of the value.
    const from = line[colon + 1] === 0x20 ? colon + 2 : colon + 1;
    if (colon > 0) headers.push([line.toString("latin1", 0, colon), line.subarray(from)]);
    at = end < 0 ? bytes.length : end + 2;
  }
  return headers;
}
