import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, readdir, readFile, rename, stat, unlink, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "@/lib/platform/clock";

/** `each`: a spooled event is on the disk, through a power failure. `none`: it survives the process, not the machine. */
export type Fsync = "each" | "none";

export type SpoolOptions = {
  folder: string;
  /** Of all segments in the folder, those of other processes included. */
  bytesMax: number;
  fsync: Fsync;
  clock: Clock;
};

/** The folder has no room for this event. */
export class SpoolFull extends Error {}

/** A segment is read as a whole and removed as a whole. */
const SEGMENT_BYTES = 1024 * 1024;
/** An owner touches its segments when they are older than this; `touch` or `segments` is to be called every 15 s at least. */
const TOUCH_MS = 5_000;
/** Owner of a segment untouched for this long is lost. Nothing else tells: containers may share host names and process ids. */
const LEASE_MS = 60_000;

/** Machine and process are for people; the owner is drawn at random for each spool. */
const NAME = /^.+\.\d+\.[0-9a-f]{8}\.(\d{9})\.ndjson$/;

/**
 * Events on disk, one JSON line each, in files that are only appended to. Each spool writes files of its own. A line
 * counts when its line break is written: a crash in mid-write leaves a torn last line, whose event was never reported as
 * spooled.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #owner = randomUUID().slice(0, 8);
  readonly #host = hostname().replaceAll(/[^\w-]/g, "_");
  #number = 0;
  #open: { name: string; handle: FileHandle; bytes: number } | null = null;
  /** Closed segments of this spool that are not replayed, with their bytes. */
  readonly #closed = new Map<string, number>();
  #turn: Promise<unknown> = Promise.resolve();
  readonly #pending: { bytes: Buffer; resolve: () => void; reject: (error: unknown) => void }[] = [];
  /** Of other spools, as last seen. */
  #othersBytes = 0;
  /** Of lines that are not on the disk yet. */
  #unwrittenBytes = 0;
  #touchedMs = Number.NEGATIVE_INFINITY;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** Whether events of this process wait here. */
  get holds(): boolean {
    return this.#closed.size > 0 || this.#open !== null || this.#unwrittenBytes > 0;
  }

  get #bytes(): number {
    const closed = [...this.#closed.values()].reduce((sum, bytes) => sum + bytes, 0);
    return this.#othersBytes + closed + (this.#open?.bytes ?? 0) + this.#unwrittenBytes;
  }

  /** Makes the folder and counts what is in it. */
  async start(): Promise<void> {
    await mkdir(this.#options.folder, { recursive: true });
    await this.segments();
  }

  /** Resolves when the line is as safe as `fsync` says. Rejects with SpoolFull, or with the error of the disk. */
  async append(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`, "utf8");
    if (this.#bytes + bytes.length > this.#options.bytesMax) throw new SpoolFull();
    this.#unwrittenBytes += bytes.length;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#pending.push({ bytes, resolve, reject });
    // One write and one fsync for all lines that came while the disk was busy.
    if (this.#pending.length === 1) void this.#inTurn(() => this.#writePending());
    await promise;
  }

  /** One piece of work on the open segment at a time. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #writePending(): Promise<void> {
    const lines = this.#pending.splice(0);
    const bytes = Buffer.concat(lines.map((line) => line.bytes));
    try {
      // Again when the file was lost meanwhile: an event may then be in two files, but never in none.
      while (!(await this.#write(bytes))) await this.#close();
      for (const { resolve } of lines) resolve();
    } catch (error) {
      // The write may have ended inside of a line: nothing may follow it in this file.
      await this.#close().catch(() => undefined);
      for (const { reject } of lines) reject(error);
    } finally {
      this.#unwrittenBytes -= bytes.length;
    }
  }

  /**
   * False when another process has taken the file over, since this one was suspended for longer than its lease. It renames
   * before it reads, so what was written under the old name until now is read.
   */
  async #write(bytes: Buffer): Promise<boolean> {
    const segment = await this.#segment();
    await segment.handle.appendFile(bytes);
    if (this.#options.fsync === "each") await segment.handle.datasync();
    segment.bytes += bytes.length;
    return this.#keepsName(segment);
  }

  async #keepsName({ name, handle }: { name: string; handle: FileHandle }): Promise<boolean> {
    const [named, held] = await Promise.all([stat(this.#path(name)).catch(() => null), handle.stat()]);
    return named !== null && named.ino === held.ino && named.dev === held.dev;
  }

  async #segment() {
    const { fsync } = this.#options;
    if (this.#open !== null && this.#open.bytes >= SEGMENT_BYTES) await this.#close();
    if (this.#open === null) {
      const name = this.#newName();
      const handle = await open(this.#path(name), "ax");
      if (fsync === "each") await syncFolder(this.#options.folder);
      this.#open = { name, handle, bytes: 0 };
    }
    return this.#open;
  }

  #newName(): string {
    return `${this.#host}.${process.pid}.${this.#owner}.${String(this.#number++).padStart(9, "0")}.ndjson`;
  }

  #path(name: string): string {
    return join(this.#options.folder, name);
  }

  /** Ends the open segment, so that it can be replayed. */
  async rotate(): Promise<void> {
    await this.#inTurn(() => this.#close());
  }

  async #close(): Promise<void> {
    const segment = this.#open;
    this.#open = null;
    if (segment === null) return;
    this.#closed.set(segment.name, segment.bytes);
    await segment.handle.close();
  }

  /**
   * The segments that this spool may replay, oldest first: its own closed ones, and those whose lease is over, which it takes
   * over by a rename. Of two processes that try, one gets the file.
   */
  async segments(): Promise<string[]> {
    const { clock, folder } = this.#options;
    const before = [...this.#closed.keys()];
    const found: { name: string; bornMs: number; number: number }[] = [];
    let othersBytes = 0;
    for (const seen of await readdir(folder)) {
      const parts = NAME.exec(seen);
      // Removed since by its owner.
      const facts = parts && (await stat(this.#path(seen)).catch(() => null));
      if (!parts || !facts) continue;
      const own = this.#closed.has(seen) || seen === this.#open?.name;
      const isFree = !own && clock.wallMs() - facts.mtimeMs > LEASE_MS;
      const name = isFree ? await this.#takeOver(seen, facts.size) : seen;
      if (!own && (!isFree || name === null)) othersBytes += facts.size;
      if (name === null || !this.#closed.has(name)) continue;
      found.push({ name, bornMs: facts.birthtimeMs || facts.ctimeMs, number: Number(parts[1]) });
    }
    this.#othersBytes = othersBytes;
    // Taken over by another process while this one was suspended.
    for (const name of before) if (!found.some((segment) => segment.name === name)) this.#closed.delete(name);
    await this.touch();
    return found.sort((a, b) => a.bornMs - b.bornMs || a.number - b.number).map(({ name }) => name);
  }

  /** Renews the lease of what waits here. Cheap when it was renewed a moment ago. */
  async touch(): Promise<void> {
    const { clock } = this.#options;
    if (clock.nowMs() - this.#touchedMs < TOUCH_MS) return;
    this.#touchedMs = clock.nowMs();
    const names = [...this.#closed.keys(), ...(this.#open === null ? [] : [this.#open.name])];
    for (const name of names) await this.#setTouched(name, clock.wallMs());
  }

  async #setTouched(name: string, atMs: number): Promise<void> {
    // Removed since: replayed, or taken over.
    await utimes(this.#path(name), atMs / 1_000, atMs / 1_000).catch(() => undefined);
  }

  async #takeOver(name: string, bytes: number): Promise<string | null> {
    const mine = this.#newName();
    // First, so that no third process finds it free under its new name.
    await this.#setTouched(name, this.#options.clock.wallMs());
    try {
      await rename(this.#path(name), this.#path(mine));
      this.#closed.set(mine, bytes);
      return mine;
    } catch {
      return null; // another process was first
    }
  }

  /** The whole lines of a segment; none when another process has taken it over. */
  async read(name: string): Promise<string[]> {
    const text = await readFile(this.#path(name), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    return text
      .slice(0, text.lastIndexOf("\n") + 1)
      .split("\n")
      .slice(0, -1);
  }

  async remove(name: string): Promise<void> {
    await unlink(this.#path(name)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
    this.#closed.delete(name);
  }

  /** Keeps a line that Parkade refused, for a person: nobody waits for its result any more. */
  async setAside(line: string, why: { code: string; detail: string }): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify({ ...why, event: line })}\n`, "utf8");
    const handle = await open(this.#path("refused.ndjson"), "a");
    try {
      if ((await handle.stat()).size + bytes.length > this.#options.bytesMax) throw new SpoolFull();
      await handle.appendFile(bytes);
    } finally {
      await handle.close();
    }
  }

  /** Ends the lease, so that the next process need not wait for it. */
  async close(): Promise<void> {
    await this.rotate();
    for (const name of this.#closed.keys()) await this.#setTouched(name, 0);
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
