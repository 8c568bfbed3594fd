import zlib from "node:zlib";
import { compressionsAlgorithms } from "@platformatic/kafka";
import { expect, it } from "vitest";
import { TooLargeError, UNPACKED_BYTES_MAX, unpack } from "@/lib/brokers/kafka/unpack";

const { gzip, snappy, lz4, zstd } = compressionsAlgorithms;
const CODECS = { gzip, snappy, lz4, zstd };

/** As Java's producer writes it: chunks of 32 KB behind a header. */
function snappyJava(bytes: Buffer): Buffer {
  const chunks = [Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1])];
  for (let at = 0; at < bytes.length; at += 32_768) {
    const chunk = Buffer.from(snappy.compressSync(bytes.subarray(at, at + 32_768) as never));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(chunk.length);
    chunks.push(length, chunk);
  }
  return Buffer.concat(chunks);
}

const words = Buffer.from(Array.from({ length: 20_000 }, (_, n) => `{"order":${n},"paid":true}`).join(","));
const zeros = Buffer.alloc(UNPACKED_BYTES_MAX + 1);
const packers: [string, number, (bytes: Buffer) => Buffer][] = [
  ...Object.entries(CODECS).map(([name, { bitmask, compressSync }]) => {
    return [name, bitmask, (bytes: Buffer) => Buffer.from(compressSync(bytes as never))] as (typeof packers)[number];
  }),
  ["snappy-java", snappy.bitmask, snappyJava],
];

it.each(packers)("gives the bytes that %s packed", (_, codec, pack) => {
  expect(unpack(codec, pack(words)).equals(words)).toBe(true);
});

it.each(packers)("unpacks no bomb of %s", (_, codec, pack) => {
  expect(() => unpack(codec, pack(zeros))).toThrow(TooLargeError);
});

it("adds up the members of gzip", () => {
  const packed = zlib.gzipSync(zeros.subarray(0, zeros.length / 2 + 10), { level: 1 });
  expect(() => unpack(gzip.bitmask, Buffer.concat([packed, packed]))).toThrow(TooLargeError);
});

it("names a compression that it does not know, and passes a damaged one on", () => {
  expect(() => unpack(6, words)).toThrow("unknown compression 6");
  expect(() => unpack(gzip.bitmask, zlib.gzipSync(words).subarray(0, 100))).toThrow();
});
