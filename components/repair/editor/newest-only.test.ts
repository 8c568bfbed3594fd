import { expect, it } from "vitest";
import { newestOnly } from "./newest-only";

it("an answer to an older text says nothing, whenever it comes", () => {
  const said: string[] = [];
  const begin = newestOnly((answer: string) => said.push(answer));
  const first = begin();
  const second = begin();
  second("of the second");
  first("of the first");
  begin()("of the third");
  second("of the second, again");
  expect(said).toEqual(["of the second", "of the third"]);
});
