import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { POST as mend } from "@/app/(repair)/api/v1/events/mend/route";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { workBulkOperation } from "@/workers/work-bulk-operation";

let parkade: TestConsole;
const RENAME = { kind: "form", steps: [{ op: "rename", at: "/custId", to: "customerId" }] };
const select = { filter: { source: ["orders"] } };

beforeAll(async () => {
  parkade = await testConsole();
  await addSource(parkade.deps.db, "orders");
});
afterAll(() => parkade.close());

describe("a mend", () => {
  const park = (payloads: readonly string[]) =>
    parkEvents(
      parkade.deps,
      payloads.map((payload, index) => ({
        source: "orders",
        letter: deadLetter({ eventId: `e-${index}`, aggregateId: null, payload: Buffer.from(payload) }),
      })),
      localViewer("tester"),
    );
  /** All that a mend changes: revisions, what is current, operations, frozen events and the audit. */
  const stored = () =>
    parkade.deps.db.query(
      `select (select count(*) from event_revisions)::int as revisions, (select sum(revision) from dlq_events)::int as current,
              (select count(*) from bulk_operations)::int as operations, (select count(*) from mend_items)::int as frozen,
              (select count(*) from audit_entries)::int as audited`,
    );
  const request = (recipe: object) => parkade.call(mend, { body: { select, recipe, reason: "renamed" } });
  const steps = (...list: object[]) => ({ kind: "form", steps: list });

  beforeAll(() => park(Array.from({ length: 20 }, (_, index) => `{"custId": ${index}, "a": 1}`)));
  let before: unknown;
  beforeEach(async () => {
    before = await stored();
  });

  test.each<[string, object, number, string, string, RegExp]>([
    ["matches nothing", steps({ op: "remove", at: "/b" }), 422, "would-change-nothing", "recipe", /^unchanged: 20$/],
    [
      "moves a value into itself",
      steps({ op: "move", from: "/a", to: "/a/b" }),
      422,
      "invalid-recipe",
      "recipe.steps[0].to",
      /into itself/,
    ],
    ["holds the mask", steps({ op: "set", at: "/n", value: REDACTED }), 422, "invalid-recipe", "recipe", /mask/],
    [
      "is nested too deeply",
      steps({ op: "set", at: "/n", json: "[".repeat(50_000) + "]".repeat(50_000) }),
      422,
      "invalid-recipe",
      "recipe.steps[0].json",
      /nested deeper than 128/,
    ],
    [
      "names no place",
      steps({ op: "set", at: "a", value: 1 }),
      400,
      "invalid-request",
      "recipe.steps[0].at",
      /JSON pointer/,
    ],
    ["has no step", steps(), 400, "invalid-request", "recipe.steps", /has no step/],
    ["is of a removed kind", { kind: "jsonata", expression: "$" }, 400, "invalid-request", "recipe.kind", /./],
  ])(
    "by a recipe that %s is refused, and names the field and the cause; nothing is stored",
    async (_, recipe, status, code, field, detail) => {
      const answer = await request(recipe);
      expect(answer).toMatchObject({ status, body: { code } });
      const [fault] = answer.body.errors as { field: string; detail: string }[];
      expect(fault!.field).toBe(field);
      expect(fault!.detail).toMatch(detail);
      expect(await stored()).toEqual(before);
    },
  );

  test("of one event that grows past the limit leaves its neighbours to be revised", async () => {
    await parkade.deps.db.run("insert into settings (key, value, updated_by) values ('payloadBytesMax', '65', 'ada')");
    await parkEvents(
      parkade.deps,
      [
        {
          source: "orders",
          letter: deadLetter({
            eventId: "large",
            aggregateId: null,
            payload: Buffer.from(`{"custId": "${"x".repeat(50)}"}`),
          }),
        },
      ],
      localViewer("tester"),
    );
    const answer = await request(RENAME);
    expect(answer.status).toBe(202);
    await workBulkOperation(parkade.deps, answer.body.id as string, new AbortController().signal);
    const rows = await parkade.deps.db.query(
      "select e.event_id = 'large' as large, e.revision, count(*)::int as n from dlq_events e group by 1, 2 order by 1",
    );
    expect(rows).toEqual([
      { large: false, revision: 2, n: 20 },
      { large: true, revision: 1, n: 1 },
    ]);
    const [operation] = await parkade.deps.db.query("select refused_by_reason from bulk_operations");
    expect(operation).toEqual({ refused_by_reason: { "too-large": 1 } });
  });
});
