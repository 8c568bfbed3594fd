import { afterEach, expect, test, vi } from "vitest";
import { POST as park } from "@/app/(events)/api/v1/events/route";
import { GET as size } from "@/app/(observe)/api/v1/stats/size/route";
import { GET as getStatus } from "@/app/(observe)/api/v1/status/route";
import { GET as getRedrive } from "@/app/(redrive)/api/v1/redrives/[id]/route";
import { GET as list, POST as request } from "@/app/(redrive)/api/v1/redrives/route";
import type { StatusOut } from "@/lib/observe/stats/stats.shapes";
import type { RedriveList, RedriveOut } from "@/lib/redrive/redrives.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";

const HOUR_MS = 3_600_000;
let web: TestConsole;
afterEach(async () => {
  vi.restoreAllMocks();
  await web.close();
});

test("a web process whose machine is hours off has the database's time at its first request, and says what a redrive waits for as the worker does", async () => {
  const { now } = Date;
  const machine = vi.spyOn(Date, "now").mockImplementation(() => now() + 3 * HOUR_MS);
  web = await testConsole();
  const { body: first } = await web.call<{ asOf: string }>(size);
  expect(Math.abs(Date.parse(first.asOf) - now())).toBeLessThan(HOUR_MS);
  await addSource(web.deps.db, "orders");
  const letter = { source: "orders", eventId: "e-1", errorCode: "TIMEOUT", payload: {} };
  expect((await web.call(park, { body: letter })).status).toBe(202);
  const startAt = new Date(now() + HOUR_MS).toISOString();
  const body = { select: { filter: {} }, mode: "deliver", lane: "main", reason: "tonight", startAt };
  const asked = await web.call<{ id: string; waitsFor: string[] }>(request, { body });
  expect(asked).toMatchObject({ status: 202, body: { waitsFor: ["time"] } });
  const { id } = asked.body;
  const said = async () => {
    const { body: page } = await web.call<RedriveList>(list, { query: "?waitsFor=time" });
    const { body: one } = await web.call<RedriveOut>(getRedrive, { params: { id } });
    const { body: status } = await web.call<StatusOut>(getStatus);
    return {
      listed: page.items.map((each) => each.id),
      waitsFor: one.waitsFor,
      counted: status.redrivesWaiting?.time,
    };
  };
  expect(await said()).toEqual({ listed: [id], waitsFor: ["time"], counted: 1 });
  await web.deps.db.run("update redrives set start_at = now()");
  expect(await said()).toEqual({ listed: [], waitsFor: [], counted: 0 });
  expect(machine).toHaveBeenCalled();
});
