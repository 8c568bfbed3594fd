import { createHash, type Hash, hash } from "node:crypto";

const LINE_END = 0x0a;

/** Counts the rows of a COPY in text format and sums their hashes, so that two tables compare whatever the order of their rows. */
export class RowTally {
  rows = 0;
  bytes = 0;
  #sum = 0n;
  /** Of a row whose end has not come yet. */
  #begun: Hash | null = null;

  add(piece: Buffer): void {
    this.bytes += piece.length;
    let from = 0;
    for (let end = piece.indexOf(LINE_END); end >= 0; end = piece.indexOf(LINE_END, from)) {
      const part = piece.subarray(from, end);
      const digest = this.#begun === null ? hash("sha256", part, "buffer") : this.#begun.update(part).digest();
      this.#begun = null;
      this.rows++;
      this.#sum = BigInt.asUintN(64, this.#sum + digest.readBigUInt64BE());
      from = end + 1;
    }
    if (from === piece.length) return;
    this.#begun ??= createHash("sha256");
    this.#begun.update(piece.subarray(from));
  }

  /** 16 hex digits: the sum of the first 8 bytes of the SHA-256 of each row, modulo 2^64. */
  get sum(): string {
    return this.#sum.toString(16).padStart(16, "0");
  }
}

/** Passes the data on, and adds it to the tally on its way. An abort of the signal ends it with an error. */
export async function* tallied(
  data: AsyncIterable<Buffer>,
  tally: RowTally,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  for await (const piece of data) {
    signal.throwIfAborted();
    tally.add(piece);
    yield piece;
  }
}
