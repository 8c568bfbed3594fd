import { describe, expect, test } from "vitest";
import { cancelBulkOperation } from "@/lib/events/bulk/cancel-bulk-operation";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { confirmEvents } from "@/lib/intake/confirm-events";
import { imposeControl } from "@/lib/order/controls/impose-control";
import { liftControl } from "@/lib/order/controls/lift-controls";
import { skipHead, undoSkip } from "@/lib/order/skip-head";
import type { Db } from "@/lib/platform/database/db";
import { confirmQuietEvents } from "@/lib/redrive/confirm/confirm-quiet-events";
import { cancelItems } from "@/lib/redrive/life/cancel-items";
import { changeRedrive } from "@/lib/redrive/life/change-redrive";
import { imposeStop, resumeSends } from "@/lib/redrive/life/change-stop";
import { editEvent } from "@/lib/repair/revisions/revise-event";
import { deliveredEarlier } from "@/lib/testing/letters";
import { worldOfEachTest } from "@/lib/testing/redrive-world";

const world = worldOfEachTest();
const ADA = localViewer("ada");
const reason = "tested";

/** The store of the test, which aborts the first transaction of an action at its end, as a deadlock victim. */
function colliding() {
  let victims = 0;
  const transaction: Db["transaction"] = (work, options) =>
    world.db.transaction(async (tx) => {
      const done = await work(tx);
      // The server aborts the statement and reports a deadlock.
      if (victims++ === 0)
        await tx.run("do $$ begin raise exception 'deadlock detected' using errcode = '40P01'; end $$");
      return done;
    }, options);
  return { db: { ...world.db, transaction }, again: () => victims > 1 };
}

type Deps = typeof world.deps;

/** Makes what the action needs, and returns the action. */
const ACTIONS: Record<string, () => Promise<(deps: Deps) => Promise<unknown>>> = {
  "lift a control": async () => {
    const scope = { errorCode: "TIMEOUT" };
    const { id } = await imposeControl(world.deps, { kind: "blacklist", scope, reason, expiresAt: null }, ADA);
    return (deps) => liftControl(deps, { id, reason }, ADA);
  },
  "skip a head": async () => {
    const [id] = await aggregate();
    return (deps) => skipHead(deps, { id: id!, reason }, ADA);
  },
  "undo a skip": async () => {
    const [id] = await aggregate();
    await skipHead(world.deps, { id: id!, reason }, ADA);
    return (deps) => undoSkip(deps, { id: id!, reason }, ADA);
  },
  "pause a redrive": async () => {
    const id = await redrive();
    return (deps) => changeRedrive(deps, { id, change: { action: "pause" } }, ADA);
  },
  "cancel an operation": async () => {
    await world.park(2_100);
    const { id } = await ignoreEvents(world.deps, { select: { filter: {} }, reason }, ADA);
    return (deps) => cancelBulkOperation(deps, { id: id!, reason }, ADA);
  },
  "stop the sends": async () => (deps) => imposeStop(deps, { target: null, reason }, ADA),
  "resume the sends": async () => {
    await imposeStop(world.deps, { target: null, reason }, ADA);
    return (deps) => resumeSends(deps, { target: null, reason }, ADA);
  },
  "edit an event": async () => {
    await world.park(1);
    const [id] = await world.idsOf();
    const bytes = { payload: Buffer.from("{}"), contentType: "application/json", headers: [] };
    return (deps) => editEvent(deps, { ...bytes, id: id!, base: 1, reason, headersMax: 100 }, ADA);
  },
  "give the items of a cancelled redrive back": async () => {
    const id = await redrive();
    await world.db.run(
      "update redrives set state = 'CANCELLED', cancelled_by = 'ada', finished_at = now() where id = $1",
      [id],
    );
    return (deps) => cancelItems(deps, id, 1);
  },
  "confirm what stayed quiet": async () => {
    await world.park(1);
    const worker = await world.worker();
    await world.ended((await world.request()).id);
    await worker.stop("only the test confirms");
    await deliveredEarlier(world.db, "1 day");
    return (deps) => confirmQuietEvents(deps);
  },
  "confirm by key": async () => {
    await world.park(1);
    return (deps) => confirmEvents(deps, { source: "orders", eventIds: ["event-0000"] }, ADA);
  },
};

async function aggregate(): Promise<string[]> {
  await world.park(2, (index) => ({ aggregateId: "order-1", version: BigInt(index + 1) }));
  return world.idsOf();
}

async function redrive(): Promise<string> {
  await world.park(1);
  return (await world.request()).id;
}

describe("an action that the store ended because of another one is done again, once, and nobody is told", () => {
  test.each(Object.keys(ACTIONS))("%s", async (name) => {
    const act = await ACTIONS[name]!();
    const { db, again } = colliding();
    await act({ ...world.deps, db });
    expect(again()).toBe(true);
  });
});
