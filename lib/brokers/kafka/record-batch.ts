import { crc32c } from "@platformatic/kafka";
import { unpack } from "@/lib/brokers/kafka/unpack";

/** A record as it lies in its partition. Values of headers may be null, names repeat, their order matters. */
export type KafkaRecord = {
  offset: bigint;
  timestampMs: number;
  /** The timestamp is that of the broker which appended the record, not of its producer. Absent = unknown. */
  isAppendTime?: boolean;
  key: Buffer | null;
  value: Buffer | null;
  headers: [name: Buffer, value: Buffer | null][];
};

/** A record batch of format 2 (Kafka 0.11) with its records still packed. */
export type RecordBatch = {
  baseOffset: bigint;
  lastOffset: bigint;
  attributes: number;
  firstTimestampMs: number;
  maxTimestampMs: number;
  producerId: bigint;
  recordCount: number;
  raw: Buffer;
};

// https://kafka.apache.org/documentation/#recordbatch: positions in bytes.
const BASE_OFFSET = 0;
const LENGTH = 8;
const MAGIC = 16;
const CRC = 17;
const ATTRIBUTES = 21;
const LAST_OFFSET_DELTA = 23;
const FIRST_TIMESTAMP = 27;
const MAX_TIMESTAMP = 35;
const PRODUCER_ID = 43;
const RECORD_COUNT = 57;
const RECORDS = 61;
/** Base offset and length stand before what the length counts. */
const PREFIX = 12;

/** A record takes some 300 bytes of memory, and as few as 7 in its batch. */
const RECORDS_MAX = 250_000;

const CODEC = 0b111;
const LOG_APPEND_TIME = 1 << 3;
const TRANSACTIONAL = 1 << 4;
const CONTROL = 1 << 5;

class RecordBatchError extends Error {
  override readonly name = "RecordBatchError";
}

/** The batches of a fetch response. The broker may cut the last one off: it is left out, and fetched again. */
export function readBatches(bytes: Buffer): RecordBatch[] {
  const batches: RecordBatch[] = [];
  let at = 0;
  while (bytes.length - at >= RECORDS) {
    const end = at + PREFIX + bytes.readInt32BE(at + LENGTH);
    if (end > bytes.length || end < at + RECORDS) break;
    const raw = bytes.subarray(at, end);
    const baseOffset = raw.readBigInt64BE(BASE_OFFSET);
    batches.push({
      baseOffset,
      lastOffset: baseOffset + BigInt(raw.readInt32BE(LAST_OFFSET_DELTA)),
      attributes: raw.readInt16BE(ATTRIBUTES),
      firstTimestampMs: Number(raw.readBigInt64BE(FIRST_TIMESTAMP)),
      maxTimestampMs: Number(raw.readBigInt64BE(MAX_TIMESTAMP)),
      producerId: raw.readBigInt64BE(PRODUCER_ID),
      recordCount: raw.readInt32BE(RECORD_COUNT),
      raw,
    });
    at = end;
  }
  return batches;
}

/** The records of a batch, unpacked. Throws RecordBatchError, or the error of the codec, when the bytes are damaged. */
export function recordsOf(batch: RecordBatch): KafkaRecord[] {
  const { raw, attributes } = batch;
  if (raw[MAGIC] !== 2) throw new RecordBatchError(`record format ${raw[MAGIC]}, only 2 is read`);
  if (crc32c(raw.subarray(ATTRIBUTES)) !== raw.readUInt32BE(CRC)) throw new RecordBatchError("the checksum is wrong");
  if (batch.recordCount > RECORDS_MAX)
    throw new RecordBatchError(`it holds ${batch.recordCount} records, more than ${RECORDS_MAX}`);
  const bytes = unpack(attributes & CODEC, raw.subarray(RECORDS));
  const appendedMs = (attributes & LOG_APPEND_TIME) === 0 ? null : batch.maxTimestampMs;
  const reader = new RecordReader(bytes);
  return Array.from({ length: batch.recordCount }, () => reader.record(batch, appendedMs));
}

class RecordReader {
  private readonly bytes: Buffer;
  private at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  record(batch: RecordBatch, appendedMs: number | null): KafkaRecord {
    const length = this.varint();
    const end = this.at + length;
    if (length < 0 || end > this.bytes.length) throw new RecordBatchError("a record ends outside of its batch");
    this.at += 1; // attributes, unused
    const timestampMs = batch.firstTimestampMs + this.varint();
    const offset = batch.baseOffset + BigInt(this.varint());
    const key = this.content(end);
    const value = this.content(end);
    const headers: KafkaRecord["headers"] = [];
    for (let left = this.varint(); left > 0; left -= 1) {
      const name = this.content(end);
      if (name === null) throw new RecordBatchError("a header has no name");
      headers.push([name, this.content(end)]);
    }
    if (this.at !== end) throw new RecordBatchError("a record is not as long as it says");
    return { offset, timestampMs: appendedMs ?? timestampMs, isAppendTime: appendedMs !== null, key, value, headers };
  }

  /** Bytes behind their length; null for length -1. */
  private content(end: number): Buffer | null {
    const length = this.varint();
    if (length < 0) return null;
    const from = this.at;
    this.at += length;
    if (this.at > end) throw new RecordBatchError("a field ends outside of its record");
    return this.bytes.subarray(from, this.at);
  }

  /** A zigzag varint of at most 10 bytes. Timestamps and lengths are below 2^53. */
  private varint(): number {
    let value = 0;
    let scale = 1;
    for (let count = 0; count < 10; count += 1) {
      const byte = this.bytes[this.at];
      if (byte === undefined) throw new RecordBatchError("a number ends outside of its batch");
      this.at += 1;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      scale *= 128;
    }
    throw new RecordBatchError("a number is longer than 64 bits");
  }
}

/** A transaction that was aborted, as the broker lists it with a read-committed fetch. */
export type AbortedTransaction = { producerId: bigint; firstOffset: bigint };

/**
 * The batches that hold records, without those of aborted transactions and without control batches. Walks the batches in
 * order, as Kafka's own consumer does: a transaction is aborted from its first offset to the abort marker of its
 * producer, wherever that marker is. A list by producer alone would forget all but one of several transactions.
 */
export function committedBatches(
  batches: readonly RecordBatch[],
  aborted: readonly AbortedTransaction[],
): RecordBatch[] {
  const waiting = [...aborted].sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1));
  const inAbort = new Set<bigint>();
  return batches.filter((batch) => {
    while (waiting.length > 0 && waiting[0]!.firstOffset <= batch.lastOffset) inAbort.add(waiting.shift()!.producerId);
    if ((batch.attributes & CONTROL) !== 0) {
      // A producer has one transaction at a time: the next marker behind its first offset is the one that aborts it.
      inAbort.delete(batch.producerId);
      return false;
    }
    return (batch.attributes & TRANSACTIONAL) === 0 || !inAbort.has(batch.producerId);
  });
}
