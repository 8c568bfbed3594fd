import { createRecordsBatch } from "@platformatic/kafka";
import { describe, expect, it } from "vitest";
import { committedBatches, type RecordBatch, readBatches, recordsOf } from "@/lib/brokers/kafka/record-batch";

/** A batch as the client writes it, from an offset on. */
function batchBytes(values: string[], { offset = 0n, producerId = -1n, attributes = 0 } = {}): Buffer {
  const messages = values.map((value) => ({
    topic: "t",
    partition: 0,
    key: Buffer.from("k"),
    value: Buffer.from(value),
    headers: new Map([[Buffer.from("h"), Buffer.from("v")]]),
    timestamp: 1_700_000_000_000n,
  }));
  const bytes = Buffer.from(createRecordsBatch(messages, { producerId }).buffer);
  bytes.writeBigInt64BE(offset, 0);
  // The checksum is the client's own, of the attributes it has written.
  bytes.writeInt16BE(bytes.readInt16BE(21) | attributes, 21);
  return bytes;
}

const TRANSACTIONAL = 1 << 4;
const CONTROL = 1 << 5;

function batch(offset: number, producerId: bigint, attributes: number): RecordBatch {
  return readBatches(batchBytes(["x"], { offset: BigInt(offset), producerId, attributes }))[0]!;
}

const offsets = (batches: RecordBatch[]) => batches.map(({ baseOffset }) => Number(baseOffset));

describe("record batches", () => {
  it("are read with their offsets, and the one that was cut off is left out", () => {
    const bytes = Buffer.concat([batchBytes(["a", "b"], { offset: 5n }), batchBytes(["c"], { offset: 7n })]);
    const [first, ...none] = readBatches(bytes.subarray(0, bytes.length - 1));
    expect(none).toEqual([]);
    expect([first!.baseOffset, first!.lastOffset]).toEqual([5n, 6n]);
    expect(recordsOf(first!).map(({ offset, value }) => [offset, value!.toString()])).toEqual([
      [5n, "a"],
      [6n, "b"],
    ]);
    expect(recordsOf(first!)[0]).toMatchObject({ timestampMs: 1_700_000_000_000, key: Buffer.from("k") });
    expect(readBatches(bytes)).toHaveLength(2);
  });

  it("are refused when a byte of them changed", () => {
    const bytes = batchBytes(["payload"]);
    bytes[bytes.length - 3]! ^= 1;
    expect(() => recordsOf(readBatches(bytes)[0]!)).toThrow("the checksum is wrong");
    const old = batchBytes(["payload"]);
    old[16] = 1;
    expect(() => recordsOf(readBatches(old)[0]!)).toThrow("record format 1");
  });
});

describe("committed batches", () => {
  const [A, B] = [7n, 8n];

  it("leave out each aborted transaction of a producer, and keep its committed ones and its neighbours", () => {
    const batches = [
      batch(0, A, TRANSACTIONAL),
      batch(1, B, TRANSACTIONAL),
      batch(2, A, CONTROL | TRANSACTIONAL), // aborts 0
      batch(3, A, TRANSACTIONAL),
      batch(4, -1n, 0),
      batch(5, A, CONTROL | TRANSACTIONAL), // commits 3
      batch(6, A, TRANSACTIONAL),
      batch(7, A, CONTROL | TRANSACTIONAL), // aborts 6
      batch(8, B, CONTROL | TRANSACTIONAL), // commits 1
    ];
    const aborted = [
      { producerId: A, firstOffset: 6n },
      { producerId: A, firstOffset: 0n },
    ];
    expect(offsets(committedBatches(batches, aborted))).toEqual([1, 3, 4]);
  });

  it("know a transaction that began before what was fetched, or ends behind it", () => {
    const began = [{ producerId: A, firstOffset: 90n }];
    expect(
      offsets(
        committedBatches([batch(100, A, TRANSACTIONAL), batch(101, A, CONTROL), batch(102, A, TRANSACTIONAL)], began),
      ),
    ).toEqual([102]);
    expect(offsets(committedBatches([batch(100, B, TRANSACTIONAL), batch(101, A, TRANSACTIONAL)], began))).toEqual([
      100,
    ]);
  });

  it("keep a producer's plain records while its transaction is aborted", () => {
    expect(offsets(committedBatches([batch(3, A, 0)], [{ producerId: A, firstOffset: 1n }]))).toEqual([3]);
  });
});
