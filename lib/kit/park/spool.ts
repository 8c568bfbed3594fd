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
/** An owner touches its segments when they are older than this; `segments` is to be called every 15 s at least. */
const TOUCH_MS = 5_000;
/** A segment of another machine that nobody touched for this long has lost its owner. */
const ABANDONED_MS = 60_000;

/** Segments that are open in this process, in any spool. */
const openHere = new Set<string>();

type Segment = { name: string; host: string; pid: number; owner: string; number: number };

const NAME = /^(.+)\.(\d+)\.([0-9a-f]{8})\.(\d{9})\.ndjson$/;

/**
 * Events on disk, one JSON line each, in files that are only appended to. Each process writes files of its own, named by
 * machine, process and number. A line counts when its line break is written: a crash in mid-write leaves a torn last
 * line, whose event was never reported as spooled.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #owner = randomUUID().slice(0, 8);
  readonly #host = hostname().replaceAll(/[^\w-]/g, "_");
  #number = 0;
  #open: { name: string; handle: FileHandle; bytes: number; touchedMs: number } | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #pending: { bytes: Buffer; resolve: () => void; reject: (error: unknown) => void }[] = [];
  /** Bytes of this process's segments, lines under way included, and of others as last seen. */
  #bytes = 0;
  #othersBytes = 0;
  /** Lines that are not on the disk yet. */
  #unwritten = 0;
  /** Closed segments that are not replayed. */
  #left = 0;

  constructor(options: SpoolOptions) {
    this.#options = options;
  }

  /** Whether events of this process wait here. */
  get holds(): boolean {
    return this.#left > 0 || this.#open !== null || this.#unwritten > 0;
  }

  /** Makes the folder and counts what is in it. */
  async start(): Promise<void> {
    await mkdir(this.#options.folder, { recursive: true });
    await this.segments();
  }

  /** Resolves when the line is as safe as `fsync` says. Rejects with SpoolFull, or with the error of the disk. */
  async append(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`, "utf8");
    if (this.#bytes + this.#othersBytes + bytes.length > this.#options.bytesMax) throw new SpoolFull();
    this.#bytes += bytes.length;
    this.#unwritten++;
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
      const segment = await this.#segment();
      await segment.handle.appendFile(bytes);
      if (this.#options.fsync === "each") await segment.handle.datasync();
      segment.bytes += bytes.length;
      for (const { resolve } of lines) resolve();
    } catch (error) {
      this.#bytes -= bytes.length;
      // The write may have ended inside of a line: nothing may follow it in this file.
      await this.#close().catch(() => undefined);
      for (const { reject } of lines) reject(error);
    } finally {
      this.#unwritten -= lines.length;
    }
  }

  async #segment() {
    const { folder, clock, fsync } = this.#options;
    if (
      this.#open !== null &&
      (this.#open.bytes >= SEGMENT_BYTES || clock.nowMs() - this.#open.touchedMs > ABANDONED_MS / 2)
    ) {
      // A process that was suspended may have lost the file to another one.
      await this.#close();
    }
    if (this.#open === null) {
      const name = `${this.#host}.${process.pid}.${this.#owner}.${String(this.#number++).padStart(9, "0")}.ndjson`;
      openHere.add(name);
      const handle = await open(join(folder, name), "ax");
      if (fsync === "each") await syncFolder(folder);
      this.#open = { name, handle, bytes: 0, touchedMs: clock.nowMs() };
    }
    return this.#open;
  }

  /** Ends the open segment, so that it can be replayed. */
  async rotate(): Promise<void> {
    await this.#inTurn(() => this.#close());
  }

  async #close(): Promise<void> {
    const segment = this.#open;
    this.#open = null;
    if (segment === null) return;
    if (segment.bytes > 0) this.#left++;
    openHere.delete(segment.name);
    await segment.handle.close();
  }

  /**
   * The segments that this process may replay, oldest first: its own closed ones, and those whose process is gone, which it
   * takes over by a rename. Of two processes that try, one gets the file.
   */
  async segments(): Promise<string[]> {
    const { folder } = this.#options;
    const found: { name: string; own: boolean; bytes: number; bornMs: number; number: number }[] = [];
    let othersBytes = 0;
    for (const name of await readdir(folder)) {
      const parts = NAME.exec(name);
      // Removed since by its owner.
      const facts = parts && (await stat(join(folder, name)).catch(() => null));
      if (!parts || !facts) continue;
      const segment: Segment = {
        name,
        host: parts[1]!,
        pid: Number(parts[2]),
        owner: parts[3]!,
        number: Number(parts[4]),
      };
      const own = segment.owner === this.#owner && segment.host === this.#host;
      if (own) await this.#touch(name, facts.mtimeMs);
      else othersBytes += facts.size;
      if (name === this.#open?.name || (!own && !this.#isAbandoned(segment, facts.mtimeMs))) continue;
      found.push({ name, own, bytes: facts.size, bornMs: facts.birthtimeMs || facts.ctimeMs, number: segment.number });
    }
    const taken: string[] = [];
    for (const { name, own, bytes } of found.sort((a, b) => a.bornMs - b.bornMs || a.number - b.number)) {
      const mine = own ? name : await this.#takeOver(name);
      if (mine === null) continue;
      taken.push(mine);
      if (own) continue;
      othersBytes -= bytes;
      this.#bytes += bytes;
    }
    this.#othersBytes = othersBytes;
    this.#left = taken.length;
    return taken;
  }

  /** Keeps a segment that waits for Parkade from looking abandoned to other machines. */
  async #touch(name: string, touchedMs: number): Promise<void> {
    const { clock, folder } = this.#options;
    const nowMs = clock.wallMs();
    if (name === this.#open?.name) this.#open.touchedMs = clock.nowMs();
    // Removed since: replayed, or taken over.
    if (nowMs - touchedMs > TOUCH_MS)
      await utimes(join(folder, name), nowMs / 1_000, nowMs / 1_000).catch(() => undefined);
  }

  #isAbandoned({ name, host, pid }: Segment, touchedMs: number): boolean {
    // An earlier process of this machine may have had this process's id.
    if (host === this.#host && pid === process.pid) return !openHere.has(name);
    if (host === this.#host && !isAlive(pid)) return true;
    return this.#options.clock.wallMs() - touchedMs > ABANDONED_MS;
  }

  async #takeOver(name: string): Promise<string | null> {
    const mine = `${this.#host}.${process.pid}.${this.#owner}.${String(this.#number++).padStart(9, "0")}.ndjson`;
    try {
      await rename(join(this.#options.folder, name), join(this.#options.folder, mine));
      return mine;
    } catch {
      return null; // another process was first
    }
  }

  /** The whole lines of a segment; none when another process has taken it over. */
  async read(name: string): Promise<string[]> {
    const text = await readFile(join(this.#options.folder, name), "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    return text
      .slice(0, text.lastIndexOf("\n") + 1)
      .split("\n")
      .slice(0, -1);
  }

  async remove(name: string): Promise<void> {
    const path = join(this.#options.folder, name);
    const facts = await stat(path).catch(() => null);
    if (facts === null) return;
    await unlink(path);
    this.#bytes -= facts.size;
    this.#left--;
  }

  /** Keeps a line that Parkade refused, for a person: nobody waits for its result any more. */
  async setAside(line: string, why: { code: string; detail: string }): Promise<void> {
    const bytes = Buffer.from(`${JSON.stringify({ ...why, event: line })}\n`, "utf8");
    const handle = await open(join(this.#options.folder, "refused.ndjson"), "a");
    try {
      if ((await handle.stat()).size + bytes.length > this.#options.bytesMax) throw new SpoolFull();
      await handle.appendFile(bytes);
    } finally {
      await handle.close();
    }
  }

  async close(): Promise<void> {
    await this.rotate();
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

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
