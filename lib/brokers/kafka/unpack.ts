import zlib from "node:zlib";
import { compressionsAlgorithmsByBitmask } from "@platformatic/kafka";

/** Maximum unpacked batch, bytes: the broker bounds the packed size alone, and 1 MB of zeros unpacks to a gigabyte at each start. */
export const UNPACKED_BYTES_MAX = 64 * 1024 * 1024;

/** The codes in the attributes of a batch: https://kafka.apache.org/documentation/#recordbatch */
const [GZIP, SNAPPY, LZ4, ZSTD] = [1, 2, 3, 4] as const;

/** A block of LZ4 grows by this factor at most: a byte of a match length stands for 255 bytes. */
const LZ4_GROWTH_MAX = 255;
const LZ4_BLOCK_BYTES: Record<number, number> = { 4: 64 * 1024, 5: 256 * 1024, 6: 1024 * 1024, 7: 4 * 1024 * 1024 };
const SNAPPY_JAVA_HEADER = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
/** Behind the header of snappy-java: its version and the oldest compatible one. */
const SNAPPY_JAVA_CHUNKS = 16;

export class TooLargeError extends Error {
  override readonly name = "TooLargeError";

  constructor() {
    super(`it is larger than ${UNPACKED_BYTES_MAX} bytes when unpacked`);
  }
}

/** The records of a batch, unpacked. Throws TooLargeError before it takes the memory; the codec's error when damaged. */
export function unpack(codec: number, packed: Buffer): Buffer {
  if (codec === 0) return packed;
  const algorithm = compressionsAlgorithmsByBitmask[codec];
  if (algorithm === undefined) throw new Error(`unknown compression ${codec}`);
  if (codec === GZIP || codec === ZSTD) return unpackBounded(codec, packed);
  const unpackedBytesMax = codec === SNAPPY ? snappyBytes(packed) : codec === LZ4 ? lz4BytesMax(packed) : 0;
  if (unpackedBytesMax > UNPACKED_BYTES_MAX) throw new TooLargeError();
  return algorithm.decompressSync(packed);
}

function unpackBounded(codec: typeof GZIP | typeof ZSTD, packed: Buffer): Buffer {
  const bound = { maxOutputLength: UNPACKED_BYTES_MAX };
  try {
    return codec === GZIP ? zlib.gunzipSync(packed, bound) : zlib.zstdDecompressSync(packed, bound);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") throw new TooLargeError();
    throw error;
  }
}

/** What the blocks say of their length: https://github.com/google/snappy/blob/main/format_description.txt (1) */
function snappyBytes(packed: Buffer): number {
  if (!packed.subarray(0, SNAPPY_JAVA_HEADER.length).equals(SNAPPY_JAVA_HEADER)) return snappyBlockBytes(packed, 0);
  let bytes = 0;
  for (let at = SNAPPY_JAVA_CHUNKS; at + 4 <= packed.length; at += 4 + packed.readUInt32BE(at))
    bytes += snappyBlockBytes(packed, at + 4);
  return bytes;
}

function snappyBlockBytes(packed: Buffer, at: number): number {
  let value = 0;
  for (let index = 0; index < 5; index += 1) {
    const byte = packed[at + index] ?? 0;
    value += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) break;
  }
  return value;
}

/** Upper bound by a frame's block headers: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md */
function lz4BytesMax(packed: Buffer): number {
  if (packed.length < 7) return 0;
  const flags = packed[4]!;
  const blockBytesMax = LZ4_BLOCK_BYTES[(packed[5]! >> 4) & 0b111] ?? UNPACKED_BYTES_MAX;
  const checksumBytes = (flags & 0b1_0000) === 0 ? 0 : 4;
  let at = 7 + ((flags & 0b1000) === 0 ? 0 : 8) + ((flags & 1) === 0 ? 0 : 4);
  let bytes = 0;
  while (at + 4 <= packed.length) {
    const word = packed.readUInt32LE(at);
    const length = word & 0x7fff_ffff;
    if (length === 0) break; // the end mark
    const isPacked = word < 0x8000_0000;
    bytes += isPacked ? Math.min(blockBytesMax, length * LZ4_GROWTH_MAX) : length;
    at += 4 + length + checksumBytes;
  }
  return bytes;
}
