import type { HeaderValue } from "@/lib/brokers/message";

// Numbers as Java frameworks write them into the bytes of a Kafka header. null: absent, or of another length.

function bufferOf(value: HeaderValue | undefined): Buffer | null {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : null;
}

/** 4 bytes, big endian. One byte is the form of Spring Kafka before 2.8. */
export function int32Of(value: HeaderValue | undefined): number | null {
  const bytes = bufferOf(value);
  if (bytes?.length === 1) return bytes[0]!;
  return bytes?.length === 4 ? bytes.readInt32BE(0) : null;
}

/** 8 bytes, big endian. */
export function int64Of(value: HeaderValue | undefined): bigint | null {
  const bytes = bufferOf(value);
  return bytes?.length === 8 ? bytes.readBigInt64BE(0) : null;
}

/** `BigInteger.toByteArray()`: two's complement in as few bytes as it takes. */
export function bigIntegerOf(value: HeaderValue | undefined): bigint | null {
  const bytes = bufferOf(value);
  if (bytes === null || bytes.length === 0 || bytes.length > 8) return null;
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString("hex")}`));
}

/** Epoch milliseconds that a Date can hold. */
export function epochMsOf(value: bigint | null): number | null {
  return value !== null && value >= 0n && value <= 8_640_000_000_000_000n ? Number(value) : null;
}
