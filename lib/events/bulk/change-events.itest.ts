import { expect, test } from "vitest";
import { ignoreEvents } from "@/lib/events/bulk/ignore-events";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { worldOfEachTest } from "@/lib/testing/redrive-world";
import { storeOpenSend } from "@/lib/testing/sends";
import { takeItems } from "@/lib/testing/slice-items";

const world = worldOfEachTest({ invariants: false });
const ADA = localViewer("ada");

test("what a run found in flight that the store then refused is left to the worker alone", async () => {
  await world.park(1);
  const ids = await world.idsOf();
  const { id: redriveId } = await world.request();
  await storeOpenSend(world.db, { id: ids[0]!, redriveId });
  await takeItems(world.db, { redriveId });
  // The answer of a run that changed the events itself names no operation.
  await world.db.run(
    `alter table idempotency_keys add constraint refuses check (response::jsonb #>> '{answer,id}' is not null or response is null)`,
  );
  const idempotency = { actor: "ada", key: "k", fingerprint: "f" };
  const answer = await ignoreEvents(world.deps, { select: { ids }, reason: "known", idempotency }, ADA);
  // It would wait for the send, and count it as under way beside the operation.
  expect(answer).toMatchObject({ state: "RUNNING", underWay: 0 });
});
