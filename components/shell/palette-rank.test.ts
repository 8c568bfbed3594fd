import { expect, it } from "vitest";
import { rankCommands } from "./palette-rank";

const COMMANDS = ["Overview", "Events", "Groups", "Controls", "Targets", "Dark theme", "Show times in UTC"].map(
  (name) => ({
    name,
  }),
);
const names = (typed: string) => {
  const { before, behind } = rankCommands(COMMANDS, typed);
  return [before.map(({ name }) => name), behind.map(({ name }) => name)];
};

it.each([
  ["contr", [["Controls"], []]],
  // The whole name before a word of it.
  [
    "t",
    [
      ["Targets", "Dark theme", "Show times in UTC"],
      ["Events", "Controls"],
    ],
  ],
  ["THEME", [["Dark theme"], []]],
  ["vent", [[], ["Events"]]],
  ["order-1130", [[], []]],
  ["controls of order", [[], []]],
])("%s offers %j", (typed, offered) => {
  expect(names(typed)).toEqual(offered);
});

it("offers all of them, in their own order, while nothing is typed", () => {
  expect(rankCommands(COMMANDS, " ").before).toEqual(COMMANDS);
});
