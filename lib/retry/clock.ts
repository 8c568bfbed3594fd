/** Time and chance as arguments: monotonic times, so that a wall clock that jumps an hour changes no delay. */
export type Clock = {
  /** Monotonic milliseconds since an arbitrary origin: every delay, deadline and latency is measured with it. */
  nowMs(): number;
  /** Wall clock, epoch milliseconds: audit rows and HTTP dates only. */
  wallMs(): number;
  /** Calls `fire` once after `ms` milliseconds unless the returned function is called first. */
  timer(ms: number, fire: () => void): () => void;
};

/** Uniform in [0, 1). */
export type Random = () => number;
