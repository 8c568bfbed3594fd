import { randomUUID } from "node:crypto";
import {
  answerKey,
  type HeldKey,
  holdKey,
  KEY_LEASE_MS,
  keyReused,
  releaseKey,
  renewKey,
} from "@/lib/platform/database/idempotent-request.write";
import type { Deps } from "./deps";
import type { Call } from "./handle";
import { fingerprintOf, idempotencyKeyOf } from "./idempotency";

const RENEW_MS = KEY_LEASE_MS / 3;

/**
 * Runs a request once under its Idempotency-Key: a repeat gets the first answer and nothing happens a second time.
 * Without a key it just runs. A request that failed gives its key back, so that it can be sent again with the same key.
 *
 * The key is held beside the work, not in its transaction: after a process died between the commit and the storing of
 * the answer, a repeat runs again once the lease is over. Work that is one transaction uses `answerOnce` instead.
 *
 * Throws DomainError `idempotency-key-in-progress` while the first still runs, `idempotency-key-reused` when the key
 * came with another request, and `store-unavailable` when the keys cannot be read: a request that must run once does not
 * run without that knowledge.
 *
 * @param fingerprint of the request, which may be known only when it was read to its end; default: of its JSON body
 * @param actor whose key it is: two of them may use the same one; default: the name of the viewer
 */
export async function once<Answer>(
  call: Pick<Call<unknown, unknown>, "deps" | "request" | "viewer" | "body">,
  run: () => Promise<Answer>,
  {
    fingerprint = () => fingerprintOf(call.request, call.body),
    actor = call.viewer.name,
  }: { fingerprint?: () => string | Promise<string>; actor?: string } = {},
): Promise<Answer> {
  const key = idempotencyKeyOf(call.request);
  if (key === null) return run();
  const held: HeldKey = { actor, key, holder: randomUUID() };
  const known = await holdKey<Answer>(call.deps.db, held, call.deps.clock.wallMs());
  if (known === null) return runHeld(call.deps, held, run, fingerprint);
  if (known.fingerprint !== (await fingerprint())) throw keyReused();
  // An empty answer is stored as null.
  return known.answer ?? (undefined as Answer);
}

async function runHeld<Answer>(
  deps: Deps,
  held: HeldKey,
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

/** The work is done: a failure to store its answer must not turn it into a failure. */
async function keep({ db, log }: Deps, held: HeldKey, answer: { fingerprint: string; answer: unknown }): Promise<void> {
  try {
    const kept = await answerKey(db, held, answer);
    if (!kept) log.warn({ idempotencyKey: held.key }, "idempotency key was taken over, the answer is not kept");
  } catch (error) {
    log.warn({ idempotencyKey: held.key, err: error }, "answer not kept under its idempotency key");
  }
}

/** Best effort: a key that is not given back ends with its lease. */
async function giveBack({ db, log }: Deps, held: HeldKey): Promise<void> {
  await releaseKey(db, held).catch((error: unknown) => {
    log.warn({ idempotencyKey: held.key, err: error }, "idempotency key not given back");
  });
}

/** Renews the lease of a long request until stopped: a stream of events may take minutes. */
function renewing({ clock, db, log }: Deps, held: HeldKey): () => void {
  let stopped = false;
  let cancel = () => {};
  const arm = () => {
    cancel = clock.timer(RENEW_MS, () => {
      renewKey(db, held, clock.wallMs())
        .catch((error: unknown) => log.warn({ idempotencyKey: held.key, err: error }, "idempotency key not renewed"))
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
