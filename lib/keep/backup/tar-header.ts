/** A block of a tar file (POSIX ustar): `tar tf` lists a backup, and `tar xf` takes it apart. */
export const BLOCK_BYTES = 512;

const SIZE_AT = 124;
const SUM_AT = 148;
/** Above this a size is written in base 256, as GNU tar and bsdtar write and read it. */
const OCTAL_SIZE_MAX = 0o77777777777;
const BASE_256 = 0x80;

type TarEntry = { name: string; bytes: number };

/** The header of a plain file that only its owner may read. `name`: at most 100 bytes. */
export function tarHeader({ name, bytes }: TarEntry, atMs: number): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  const octal = (value: number, at: number, digits: number) =>
    block.write(`${value.toString(8).padStart(digits, "0")}\0`, at, "latin1");
  block.write(name, 0, 100, "latin1");
  octal(0o600, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  if (bytes <= OCTAL_SIZE_MAX) octal(bytes, SIZE_AT, 11);
  else {
    block[SIZE_AT] = BASE_256;
    block.writeBigUInt64BE(BigInt(bytes), SIZE_AT + 4);
  }
  octal(Math.floor(atMs / 1000), 136, 11);
  block.write("0", 156, "latin1");
  block.write("ustar\0" + "00", 257, "latin1");
  block.write(`${sumOf(block).toString(8).padStart(6, "0")}\0 `, SUM_AT, "latin1");
  return block;
}

/** null = the block is no header: an empty one ends the file, another one is damaged. */
export function readTarHeader(block: Buffer): TarEntry | null {
  const text = (at: number, length: number) => block.toString("latin1", at, at + length).split("\0")[0]!;
  if (Number.parseInt(text(SUM_AT, 8), 8) !== sumOf(block)) return null;
  const bytes =
    block[SIZE_AT] === BASE_256 ? Number(block.readBigUInt64BE(SIZE_AT + 4)) : Number.parseInt(text(SIZE_AT, 12), 8);
  return { name: text(0, 100), bytes };
}

/** The sum of the bytes, with spaces in place of the sum itself. */
function sumOf(block: Buffer): number {
  const others = block.reduce((sum, byte, at) => (at >= SUM_AT && at < SUM_AT + 8 ? sum : sum + byte), 0);
  return others + 8 * 0x20;
}

/** Bytes that fill the last block of an entry. */
export function paddingOf(bytes: number): number {
  return (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;
}
