import { DomainError } from "@/lib/core/problem";
import type { Deps } from "./deps";
import type { Call } from "./handle";
import { fingerprintOf, idempotencyKeyOf, keyReused } from "./idempotency";

/** How long a repeated request gets the first one's answer; the same as for redrives. */
const WINDOW_MS = 24 * 3_600_000;
/** A process that died in mid-request gives its key back after this long; a live one renews in time. */
const LEASE_MS = 30_000;
const RENEW_MS = LEASE_MS / 3;
const TIMES = { windowMs: WINDOW_MS, leaseMs: LEASE_MS };

/** What is kept of a request that was answered. */
export type KeptAnswer = { fingerprint: string; answer: unknown };

/**
 * Runs a request once under its Idempotency-Key: a repeat gets the first one's answer and nothing happens a second time.
 * Without a key it just runs. A request that failed gives its key back, so that it can be sent again with the same one.
 *
 * The guard lies beside the work, not in its transaction: a process that dies between the commit and the note of it lets
 * a repeat run again once its lease is over. Where that would do harm the work keeps its answer itself, as redrives do.
 *
 * Throws DomainError `idempotency-key-in-progress` while the first still runs, `idempotency-key-reused` when the key
 * came with another request, and `queue-unavailable` when the keys cannot be read: what was asked to happen once does
 * not happen without knowing.
 *
 * @param fingerprint tells the request from others, once it was read to its end; by default of its JSON body
 */
export async function once<Query, Body, Answer>(
  call: Call<Query, Body>,
  run: () => Promise<Answer>,
  fingerprint: () => string | Promise<string> = () => fingerprintOf(call.request, call.body),
): Promise<Answer> {
  const key = idempotencyKeyOf(call.request);
  if (key === null) return run();
  const name = JSON.stringify([call.viewer.name, key]);
  const claim = await call.deps.idempotency.claim(name, TIMES);
  switch (claim.kind) {
    case "in-progress":
      throw new DomainError("idempotency-key-in-progress", "The first request with this Idempotency-Key still runs");
    case "done":
      if (claim.result.fingerprint !== (await fingerprint())) throw keyReused();
      return claim.result.answer as Answer;
    case "claimed":
      return runClaimed(call.deps, { name, fence: claim.fence }, run, fingerprint);
  }
}

type Held = { name: string; fence: number };

async function runClaimed<Answer>(
  deps: Deps,
  held: Held,
  run: () => Promise<Answer>,
  fingerprint: () => string | Promise<string>,
): Promise<Answer> {
  const stopRenewing = renewing(deps, held);
  try {
    const answer = await run();
    await keep(deps, held, { fingerprint: await fingerprint(), answer });
    return answer;
  } catch (error) {
    await giveBack(deps, held);
    throw error;
  } finally {
    stopRenewing();
  }
}

/** The work is done: whatever keeps its answer from being stored must not turn it into a failure. */
async function keep({ idempotency, log }: Deps, { name, fence }: Held, answer: KeptAnswer): Promise<void> {
  try {
    const kept = await idempotency.finish(name, fence, answer, TIMES);
    if (!kept) log.warn({ idempotencyKey: name }, "idempotency key was taken over, the answer is not kept");
  } catch (error) {
    log.warn({ idempotencyKey: name, err: error }, "answer not kept under its idempotency key");
  }
}

/** Best effort: a key that is not given back ends with its lease. */
async function giveBack({ idempotency, log }: Deps, { name, fence }: Held): Promise<void> {
  await idempotency.release(name, fence).catch((error: unknown) => {
    log.warn({ idempotencyKey: name, err: error }, "idempotency key not given back");
  });
}

/** Renews the lease of a long request until stopped: a stream of events may take minutes. */
function renewing({ clock, idempotency, log }: Deps, { name, fence }: Held): () => void {
  let stopped = false;
  let cancel = () => {};
  const arm = () => {
    cancel = clock.timer(RENEW_MS, () => {
      idempotency
        .renew(name, fence, TIMES)
        .catch((error: unknown) => log.warn({ idempotencyKey: name, err: error }, "idempotency key not renewed"))
        .finally(() => {
          if (!stopped) arm();
        });
    });
  };
  arm();
  return () => {
    stopped = true;
    cancel();
  };
}
