import { afterAll, beforeAll, expect, test } from "vitest";
import type { RecipeList } from "@/lib/contract/recipes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";
import * as recipes from "../recipes/route";

let parkade: TestConsole;
const RENAME = { kind: "form", steps: [{ op: "rename", at: "/custId", to: "customerId" }] };

beforeAll(async () => {
  parkade = await testConsole();
  await addSource(parkade.deps.db, "orders");
});
afterAll(() => parkade.close());

test("a recipe whose answer was lost is saved once", async () => {
  const body = { name: "rename", recipe: RENAME, source: "orders" };
  const save = () => parkade.call(recipes.POST, { body, headers: { "x-actor": "ada", "idempotency-key": "lost" } });
  const first = await save();
  const again = await save();
  expect(first).toMatchObject({ status: 201, body: { version: 1 } });
  expect([again.status, again.text]).toEqual([201, first.text]);
  expect((await parkade.call<RecipeList>(recipes.GET)).body.items).toEqual([first.body]);
});
