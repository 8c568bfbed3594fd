import { expect, test } from "vitest";
import { readGlossary } from "@/lib/observe/docs/docs.read";
import { STATE_MEANINGS } from "./state-badge";

test("a state means on the screen what the glossary says", async () => {
  const states = (await readGlossary()).filter(({ word }) => /^[A-Z]+$/.test(word));
  expect(Object.fromEntries(states.map(({ word, meaning }) => [word, meaning]))).toEqual(STATE_MEANINGS);
});
