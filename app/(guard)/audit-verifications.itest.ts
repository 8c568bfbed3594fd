import { afterAll, beforeAll, expect, test } from "vitest";
import * as route from "@/app/(guard)/api/v1/audit-verifications/route";
import { type TestConsole, testConsole } from "@/lib/testing/console";

let web: TestConsole;

beforeAll(async () => {
  web = await testConsole();
});
afterAll(() => web.close());

test("a check takes hourly anchors of a year, and no more", async () => {
  const anchor = { scope: "configuration", seq: 9_000_000, chainHash: "f".repeat(64) };
  const anchors = Array.from({ length: 30_000 }, () => anchor);
  const verify = (given: object[]) => web.call(route.POST, { body: { extent: "whole", anchors: given } });
  expect(await verify(anchors)).toMatchObject({ status: 202, body: { extent: "whole", finishedAt: null } });
  const [stored] = await web.deps.db.query<{ n: number }>(
    "select jsonb_array_length(anchors) as n from audit_verifications",
  );
  expect(stored).toEqual({ n: 30_000 });
  expect(await verify([...anchors, anchor])).toMatchObject({ status: 400 });
});
