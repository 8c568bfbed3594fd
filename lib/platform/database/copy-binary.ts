import type pg from "pg";

/**
 * Rows in PostgreSQL's binary COPY format (manual, "COPY", file formats): the server parses no text, and a payload is
 * not expanded to hex. The caller must give the fields in the order and types of the columns.
 */

const SIGNATURE = Buffer.from("PGCOPY\n\xff\r\n\0", "latin1");
/** Epoch milliseconds of 2000-01-01, where PostgreSQL's timestamps start. */
const POSTGRES_EPOCH_MS = 946_684_800_000;
const CHUNK_BYTES = 64 * 1024;
/** A larger value becomes a chunk of its own instead of being copied. */
const OWN_CHUNK_BYTES = 16 * 1024;
const JSONB_VERSION = 1;

/** Where the two digits of each byte are in the text of a UUID. */
const UUID_BYTES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const;
const NIBBLE = new Uint8Array(128);
for (let value = 0; value < 16; value++) {
  for (const digit of [value.toString(16), value.toString(16).toUpperCase()]) NIBBLE[digit.charCodeAt(0)] = value;
}

/**
 * Sent chunks, for reuse. A stream of a gigabyte would otherwise leave a gigabyte of unused chunks in memory: they are
 * outside of the V8 heap, so the garbage collector frees them late.
 */
const spare: Buffer[] = [];
const SPARE_MAX = 128;

function newChunk(): Buffer {
  return spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES);
}

export class CopyRows {
  private readonly chunks: Buffer[] = [];
  private readonly filled: Buffer[] = [];
  private buffer = newChunk();
  private at = 0;
  private readonly columns: number;

  constructor(columns: number) {
    this.columns = columns;
    this.at += SIGNATURE.copy(this.buffer, 0);
    // No flags, no header extension.
    this.at = this.buffer.writeInt32BE(0, this.at);
    this.at = this.buffer.writeInt32BE(0, this.at);
  }

  /** Begins a row. One field for each column must follow. */
  row(): this {
    this.reserve(2);
    this.at = this.buffer.writeInt16BE(this.columns, this.at);
    return this;
  }

  uuid(value: string | null): this {
    if (value === null) return this.null();
    this.reserve(20);
    this.at = this.buffer.writeInt32BE(16, this.at);
    // A call into Node, with the dashes taken out before, takes twice as long, and an event has seven of them.
    for (let byte = 0; byte < UUID_BYTES.length; byte++) {
      const place = UUID_BYTES[byte]!;
      this.buffer[this.at + byte] = (NIBBLE[value.charCodeAt(place)]! << 4) | NIBBLE[value.charCodeAt(place + 1)]!;
    }
    this.at += UUID_BYTES.length;
    return this;
  }

  text(value: string | null): this {
    return value === null ? this.null() : this.string(value, null);
  }

  /** `value` is JSON text. */
  jsonb(value: string | null): this {
    return value === null ? this.null() : this.string(value, JSONB_VERSION);
  }

  int4(value: number): this {
    this.reserve(8);
    this.at = this.buffer.writeInt32BE(4, this.at);
    this.at = this.buffer.writeInt32BE(value, this.at);
    return this;
  }

  int8(value: bigint | null): this {
    if (value === null) return this.null();
    this.reserve(12);
    this.at = this.buffer.writeInt32BE(8, this.at);
    this.at = this.buffer.writeBigInt64BE(value, this.at);
    return this;
  }

  /** timestamptz of epoch milliseconds. */
  timestamp(ms: number | null): this {
    return ms === null ? this.null() : this.int8(BigInt(Math.round((ms - POSTGRES_EPOCH_MS) * 1000)));
  }

  bytea(value: Uint8Array | null): this {
    if (value === null) return this.null();
    this.reserve(4);
    this.at = this.buffer.writeInt32BE(value.byteLength, this.at);
    if (value.byteLength < OWN_CHUNK_BYTES) {
      this.reserve(value.byteLength);
      this.buffer.set(value, this.at);
      this.at += value.byteLength;
    } else {
      this.flush();
      this.chunks.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    }
    return this;
  }

  /** The finished data. The rows cannot be added to afterwards. */
  end(): Buffer[] {
    this.reserve(2);
    this.at = this.buffer.writeInt16BE(-1, this.at);
    this.chunks.push(this.buffer.subarray(0, this.at));
    this.filled.push(this.buffer);
    return this.chunks;
  }

  /** Releases the chunks for reuse, once the server has read them. The result of `end` must not be used any more. */
  release(): void {
    for (const chunk of this.filled) if (chunk.length === CHUNK_BYTES && spare.length < SPARE_MAX) spare.push(chunk);
    this.filled.length = 0;
    this.chunks.length = 0;
  }

  private null(): this {
    this.reserve(4);
    this.at = this.buffer.writeInt32BE(-1, this.at);
    return this;
  }

  private string(value: string, version: number | null): this {
    // At most 3 bytes of UTF-8 for each unit of UTF-16.
    this.reserve(5 + value.length * 3);
    const lengthAt = this.at;
    this.at += 4;
    if (version !== null) this.at = this.buffer.writeUInt8(version, this.at);
    this.at += this.buffer.write(value, this.at, "utf8");
    this.buffer.writeInt32BE(this.at - lengthAt - 4, lengthAt);
    return this;
  }

  private reserve(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return;
    this.flush();
    if (bytes > this.buffer.length) this.buffer = Buffer.allocUnsafeSlow(bytes);
  }

  private flush(): void {
    if (this.at === 0) return;
    this.chunks.push(this.buffer.subarray(0, this.at));
    this.filled.push(this.buffer);
    this.buffer = newChunk();
    this.at = 0;
  }
}

/** `text`: a `copy ... from stdin (format binary)` into the columns of `rows`. */
export type RowCopy = { text: string; rows: CopyRows };

const COPY_DATA = 0x64;
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4]);

/**
 * Copies in one round trip: their data follows the statements at once, in their order. The server reads the data of each when it
 * begins it, and drops what was sent for those behind one that failed.
 */
export class CopyQuery implements pg.Submittable {
  /** `pg` wraps it with the time limit of the statement. */
  callback: (error?: unknown) => void = () => {};
  readonly query_timeout: number | undefined;
  readonly done: Promise<void>;
  private readonly copies: readonly { text: string; chunks: readonly Buffer[] }[];

  constructor(copies: readonly RowCopy[], { query_timeout }: { query_timeout?: number }) {
    this.copies = copies.map(({ text, rows }) => ({ text, chunks: rows.end() }));
    this.query_timeout = query_timeout;
    this.done = new Promise((resolve, reject) => {
      this.callback = (error) => (error === undefined ? resolve() : reject(error));
    });
  }

  submit(connection: pg.Connection): void {
    const { stream } = connection;
    stream.cork();
    connection.query(this.copies.map(({ text }) => text).join("; "));
    for (const { chunks } of this.copies) {
      for (const chunk of chunks) {
        const head = Buffer.from([COPY_DATA, 0, 0, 0, 0]);
        head.writeUInt32BE(chunk.length + 4, 1);
        stream.write(head);
        stream.write(chunk);
      }
      stream.write(COPY_DONE);
    }
    stream.uncork();
  }

  handleCopyInResponse(): void {}

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback();
  }

  handleError(error: unknown): void {
    this.callback(error);
  }
}
