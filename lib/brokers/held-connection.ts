import { abortable } from "@/lib/brokers/abortable";

/** One connection for many users, opened by the first and again after a loss. A user's signal ends its wait, `close` ends the opening. */
export class HeldConnection<T extends { close(): Promise<void> | void }> {
  private readonly connect: (signal: AbortSignal) => Promise<T>;
  private readonly isOpen: (connection: T) => boolean;
  private readonly closing = new AbortController();
  private opening: Promise<T> | null = null;
  private held: T | null = null;

  constructor(connect: (signal: AbortSignal) => Promise<T>, isOpen: (connection: T) => boolean) {
    this.connect = connect;
    this.isOpen = isOpen;
  }

  get closed(): boolean {
    return this.closing.signal.aborted;
  }

  /** Rejects as `connect` does, or with `signal.reason`. */
  async use(signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    this.closing.signal.throwIfAborted();
    if (this.held !== null && !this.isOpen(this.held)) this.drop(this.held);
    this.opening ??= this.open();
    return await abortable(this.opening, signal);
  }

  private async open(): Promise<T> {
    try {
      const made = await this.connect(this.closing.signal);
      if (this.closed) await made.close();
      else this.held = made;
      return made;
    } catch (error) {
      this.opening = null;
      throw error;
    }
  }

  /** The next user opens another connection; the caller closes this one. */
  forget(connection: T): void {
    if (this.held !== connection) return;
    this.held = null;
    this.opening = null;
  }

  /** Ends a connection that can no longer be trusted; the next user opens another. */
  drop(connection: T): void {
    this.forget(connection);
    void Promise.resolve(connection.close()).catch(() => undefined); // it is lost anyway
  }

  async close(): Promise<void> {
    this.closing.abort(new Error("closed"));
    await this.opening?.catch(() => undefined);
    const { held } = this;
    this.held = null;
    await held?.close();
  }
}
