type Flight<T> = { promise: Promise<T>; controller: AbortController; callers: number };

/** Shares one run, and its answer or error, among simultaneous calls of a key. The run is aborted when its last caller has aborted. */
export class Coalescer<T> {
  #flights = new Map<string, Flight<T>>();

  /** @param start begins the run; called only when none is under way for `key` */
  async run(key: string, start: (signal: AbortSignal) => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#begin(key, start);
    flight.callers++;
    try {
      return await (signal ? untilAborted(flight.promise, signal) : flight.promise);
    } finally {
      flight.callers--;
      if (flight.callers === 0) this.#abandon(key, flight);
    }
  }

  get size(): number {
    return this.#flights.size;
  }

  #begin(key: string, start: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const flight: Flight<T> = { promise: start(controller.signal), controller, callers: 0 };
    this.#flights.set(key, flight);
    const forget = () => this.#forget(key, flight);
    flight.promise.then(forget, forget);
    return flight;
  }

  /** Nobody waits any more; a finished run does not mind the abort. */
  #abandon(key: string, flight: Flight<T>): void {
    if (this.#forget(key, flight)) flight.controller.abort();
  }

  #forget(key: string, flight: Flight<T>): boolean {
    return this.#flights.get(key) === flight && this.#flights.delete(key);
  }
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    const done = () => signal.removeEventListener("abort", stop);
    promise.then(resolve, reject).finally(done);
  });
}
