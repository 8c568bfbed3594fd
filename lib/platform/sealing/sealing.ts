import { createSecretKey, type KeyObject, randomBytes } from "node:crypto";
import type { Clock } from "@/lib/platform/clock";
import type { Queryable } from "@/lib/platform/database/db";
import { uuidv7 } from "@/lib/platform/ids";
import { type MasterKeys, NO_MASTER_KEYS } from "@/lib/platform/sealing/master-keys";
import { seal, unseal } from "@/lib/platform/sealing/sealed-bytes";

type Store = Pick<Queryable, "query" | "run">;

type DataKey = { id: string; key: KeyObject };

/** Why bytes do not open: a sentence for a person. */
export type Unreadable = { fault: string };

/** Opens bytes with the data keys that were fetched for it. */
export type Opener = (dataKey: string, place: string, bytes: Uint8Array) => Buffer | Unreadable;

/** A data key seals for this long: GCM with random nonces allows 2^32 seals of one key, and a body needs two. */
const DATA_KEY_S = 86_400;
/**
 * On each connection the store is asked this often whether it has the key: a standby that takes over, or a store that goes back in
 * time under running processes, may lack it. What one connection says is nothing about another: an old store may still answer there.
 */
const CHECK_MS = 60_000;
/** A page of a list may need the keys of as many days and processes. */
const CACHED_MAX = 1_000;

/**
 * Encrypts and decrypts bodies for a process. A data key encrypts those of a day; the store holds it wrapped by a master key.
 * It is committed before a transaction begins that uses it: a body never outlives its key.
 */
export class Sealing {
  private readonly keys: MasterKeys;
  private readonly clock: Pick<Clock, "wallMs" | "nowMs">;
  private current: (WrappedKey & DataKey & { untilMs: number }) | null = null;
  private readonly checked = new WeakMap<object, { id: string; untilMs: number }>();
  private making: Promise<void> | null = null;
  private readonly opened = new Map<string, KeyObject>();

  constructor(keys: MasterKeys, clock: Pick<Clock, "wallMs" | "nowMs">) {
    this.keys = keys;
    this.clock = clock;
  }

  /** New bodies are encrypted. */
  get seals(): boolean {
    return this.keys.current !== null;
  }

  /** Keys are there, for new bodies or for those of before. */
  get configured(): boolean {
    return this.keys.byId.size > 0;
  }

  /** The id of the key that wraps new data keys; null = new bodies are stored as they are. */
  get masterKey(): string | null {
    return this.keys.current;
  }

  /** The ids of all keys that this process has. */
  get masterKeys(): string[] {
    return [...this.keys.byId.keys()];
  }

  has(masterKey: string): boolean {
    return this.keys.byId.has(masterKey);
  }

  /** `makeReady` must be called before a transaction on this connection that may seal. */
  isDue(connection: object): boolean {
    if (this.keys.current === null) return false;
    const nowMs = this.clock.nowMs();
    const checked = this.checked.get(connection);
    return !this.isCurrent(nowMs) || checked?.id !== this.current?.id || nowMs >= checked!.untilMs;
  }

  private isCurrent(nowMs: number): boolean {
    return this.current !== null && nowMs < this.current.untilMs;
  }

  /**
   * Finds or makes the data key of now, and stores it again where the store of this connection has lost it. `store` must not be a
   * transaction.
   */
  async makeReady(store: Store, connection: object): Promise<void> {
    while (this.isDue(connection)) {
      if (this.isCurrent(this.clock.nowMs())) await this.check(store, connection, this.current!);
      else {
        this.making ??= this.findCurrent(store).finally(() => {
          this.making = null;
        });
        await this.making;
      }
    }
  }

  private async check(store: Store, connection: object, current: WrappedKey & { untilMs: number }): Promise<void> {
    await this.keepStored(store, current);
    this.checked.set(connection, { id: current.id, untilMs: this.clock.nowMs() + CHECK_MS });
  }

  private async keepStored(store: Store, current: WrappedKey & { untilMs: number }): Promise<void> {
    const { id } = current;
    const [row] = await store.query<WrappedKey>(`select ${WRAPPED} from data_keys where id = $1`, [id]);
    // Another process may have wrapped it with another master key.
    if (row) return void Object.assign(current, row);
    const ageS = DATA_KEY_S - (current.untilMs - this.clock.nowMs()) / 1000;
    await store.run(
      `insert into data_keys (id, master_key, wrapped, made_at) values ($1, $2, $3, now() - make_interval(secs => $4))
       on conflict do nothing`,
      [id, current.masterKey, current.wrapped, ageS],
    );
  }

  private async findCurrent(store: Store): Promise<void> {
    const masterKey = this.keys.current!;
    const [row] = await store.query<WrappedKey & { ageS: number }>(
      `select ${WRAPPED}, extract(epoch from now() - made_at)::float8 as "ageS" from data_keys
        where master_key = $1 and made_at > now() - make_interval(secs => $2) order by made_at desc limit 1`,
      [masterKey, DATA_KEY_S],
    );
    const found = row ? unwrap(this.keys, row) : null;
    if (row && found && !("fault" in found)) {
      this.current = { ...row, key: found, untilMs: this.clock.nowMs() + (DATA_KEY_S - row.ageS) * 1000 };
      return;
    }
    const id = uuidv7(this.clock.wallMs());
    const bytes = randomBytes(32);
    const wrapped = seal(this.keys.byId.get(masterKey)!, wrapPlace(id), bytes);
    await store.run("insert into data_keys (id, master_key, wrapped) values ($1, $2, $3)", [id, masterKey, wrapped]);
    const untilMs = this.clock.nowMs() + DATA_KEY_S * 1000;
    this.current = { id, masterKey, wrapped, key: createSecretKey(bytes), untilMs };
  }

  /** `place`: where the bytes lie, see `sealed-bytes.ts`. */
  seal(place: string, bytes: Uint8Array): Buffer {
    return seal(this.sealingKey().key, place, bytes);
  }

  /** The id of the data key that `seal` uses. */
  sealingKeyId(): string {
    return this.sealingKey().id;
  }

  private sealingKey(): DataKey {
    if (this.current === null) throw new Error("no data key: the transaction was not begun by Db.transaction");
    return this.current;
  }

  /** Fetches these data keys, those of which are null are not needed. What cannot be opened says so when it is opened. */
  async opener(store: Store, dataKeys: Iterable<string | null>): Promise<Opener> {
    const keys = new Map<string, KeyObject | Unreadable>();
    const missing: string[] = [];
    for (const id of new Set(dataKeys)) {
      if (id === null) continue;
      const key = this.cached(id);
      if (key) keys.set(id, key);
      else missing.push(id);
    }
    if (missing.length > 0) {
      const rows = await store.query<WrappedKey>(
        `select ${WRAPPED} from data_keys where id = any($1::uuid[])`,
        [missing],
        { name: "data-keys" },
      );
      for (const row of rows) {
        const key = unwrap(this.keys, row);
        keys.set(row.id, key);
        if (!("fault" in key)) this.keep(row.id, key);
      }
    }
    return (dataKey, place, bytes) => {
      const key = keys.get(dataKey) ?? { fault: `it cannot be decrypted: the store lacks its data key ${dataKey}` };
      if ("fault" in key) return key;
      return unseal(key, place, bytes) ?? { fault: "it cannot be decrypted: what is stored was changed" };
    };
  }

  private cached(id: string): KeyObject | undefined {
    return this.current?.id === id ? this.current.key : this.opened.get(id);
  }

  private keep(id: string, key: KeyObject): void {
    const [oldest] = this.opened.keys();
    if (this.opened.size >= CACHED_MAX && oldest !== undefined) this.opened.delete(oldest);
    this.opened.set(id, key);
  }

  /** A data key as the current master key wraps it. null = there is no current one. */
  rewrap(row: WrappedKey): Buffer | Unreadable | null {
    if (this.keys.current === null) return null;
    const key = unwrap(this.keys, row);
    if ("fault" in key) return key;
    return seal(this.keys.byId.get(this.keys.current)!, wrapPlace(row.id), key.export());
  }
}

/** Without keys: bodies are stored as they are, and those that are encrypted are unreadable. */
export const NO_SEALING = new Sealing(NO_MASTER_KEYS, { wallMs: () => 0, nowMs: () => 0 });

/** A row of `data_keys`. */
export type WrappedKey = { id: string; masterKey: string; wrapped: Buffer };

export const WRAPPED = `id, master_key as "masterKey", wrapped`;

function wrapPlace(id: string): string {
  return `data-key:${id}`;
}

function unwrap(keys: MasterKeys, { id, masterKey, wrapped }: WrappedKey): KeyObject | Unreadable {
  const master = keys.byId.get(masterKey);
  if (master === undefined) return { fault: `it cannot be decrypted: the encryption key ${masterKey} is missing` };
  const bytes = unseal(master, wrapPlace(id), wrapped);
  if (bytes === null)
    return { fault: `it cannot be decrypted: the encryption key ${masterKey} is another one than before` };
  return createSecretKey(bytes);
}
