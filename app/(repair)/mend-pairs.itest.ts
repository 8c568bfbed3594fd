import { afterAll, beforeAll, expect, test } from "vitest";
import { POST as edit } from "@/app/(repair)/api/v1/events/[id]/revisions/route";
import { POST as preview } from "@/app/(repair)/api/v1/events/mend/preview/route";
import { POST as mend } from "@/app/(repair)/api/v1/events/mend/route";
import { POST as undo } from "@/app/(repair)/api/v1/events/undo-mend/route";
import { POST as saveRecipe } from "@/app/(repair)/api/v1/recipes/route";
import { readBulkOperation } from "@/lib/events/bulk/bulk-operations.read";
import type { BulkAnswer } from "@/lib/events/events.shapes";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import type { MendPage } from "@/lib/repair/recipes/recipes.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { workBulkOperation } from "@/workers/work-bulk-operation";

/** Two parts of repair that meet: each alone has its tests beside it. */

let parkade: TestConsole;
beforeAll(async () => {
  parkade = await testConsole();
  await addSource(parkade.deps.db, "orders");
});
afterAll(() => parkade.close());

let serial = 0;
async function park(payload: string): Promise<string> {
  const eventId = `pair-${++serial}`;
  const letter = deadLetter({ eventId, aggregateId: null, payload: Buffer.from(payload) });
  await parkEvents(parkade.deps, [{ source: "orders", letter }], localViewer("tester"));
  const [row] = await parkade.deps.db.query<{ id: string }>("select id from event_keys where event_id = $1", [eventId]);
  return row!.id;
}

const form = (...steps: object[]) => ({ kind: "form", steps });
const SET = form({ op: "set", at: "/b", value: 1 });
const work = (id: string) => workBulkOperation(parkade.deps, id, new AbortController().signal);
const operation = (id: string) => readBulkOperation(parkade.deps.db, localViewer(), id);
async function mended(ids: readonly string[], recipe: object): Promise<string> {
  const answer = await parkade.call<BulkAnswer>(mend, { body: { select: { ids }, recipe, reason: "renamed" } });
  expect(answer).toMatchObject({ status: 202 });
  await work(answer.body.id!);
  return answer.body.id!;
}

test("an id in upper case is the same event and the same mend: nothing is missing, and its undo is known", async () => {
  const id = await park('{"a":1}');
  const made = await mended([id, id.toUpperCase()], SET);
  expect(await operation(made)).toMatchObject({ changed: 1, refused: 0, expected: { value: 1, kind: "exact" } });
  const further = { select: { operation: made.toUpperCase() }, recipe: form({ op: "set", at: "/c", value: 1 }) };
  expect(await parkade.call<MendPage>(preview, { body: further })).toMatchObject({
    status: 200,
    body: { items: [{ id, outcome: "changed", revision: 2 }] },
  });
  const undone = await parkade.call<BulkAnswer>(undo, {
    body: { select: { operation: made.toUpperCase() }, reason: "the wrong field" },
  });
  await work(undone.body.id!);
  expect((await operation(made)).undo).toMatchObject({ id: undone.body.id, changed: 1 });
});

test("what a preview calls changed is stored, also where a header is made of a payload that no store takes as text", async () => {
  const ids = [await park('{"note":"x\\ud800"}'), await park('{"note":"fine"}'), await park('{"note":"\\u0000"}')];
  const recipe = form({ op: "copy", from: "/note", to: "header:x-note" });
  const shown = await parkade.call<MendPage>(preview, { body: { select: { ids }, recipe } });
  const outcomes = shown.body.items.map(({ outcome }) => outcome).sort();
  expect(outcomes).toEqual(["changed", "failed", "failed"]);
  expect(await operation(await mended(ids, recipe))).toMatchObject({
    changed: 1,
    refusedByReason: { "not-a-header": 2 },
  });
});

test("a content type of two lines is refused by name: HTTP would leave it out", async () => {
  const id = await park("{}");
  const answer = await parkade.call(edit, {
    params: { id },
    body: { base: 1, contentType: "application/json\r\nx-evil: 1", reason: "typed" },
  });
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: "contentType" }] } });
});

test("a recipe of a source that does not exist is refused", async () => {
  const answer = await parkade.call(saveRecipe, { body: { name: "lost", recipe: SET, source: "ordres" } });
  expect(answer).toMatchObject({ status: 404, body: { code: "unknown-source", errors: [{ field: "source" }] } });
});
