import { expect, it, vi } from "vitest";
import { restoreOnUndo, restoreSelection } from "./holds.browser";

it("a tab gives back the selections of its last holds, each once, and forgets those before", () => {
  const restores = Array.from({ length: 60 }, () => vi.fn());
  for (const [index, restore] of restores.entries()) restoreOnUndo(`redrive-${index}`, restore);
  for (let index = 0; index < 60; index++) restoreSelection(`redrive-${index}`);
  restoreSelection("redrive-59");
  expect(restores.map(({ mock }) => mock.calls.length)).toEqual(restores.map((_, index) => (index < 10 ? 0 : 1)));
});
