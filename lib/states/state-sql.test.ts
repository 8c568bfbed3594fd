import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { EVENT_STATUSES } from "@/lib/states/event-state.pure";
import { ATTEMPT_STATES, ITEM_STATES } from "@/lib/states/item-state.pure";
import { REDRIVE_STATES } from "@/lib/states/redrive-state.pure";
import { ATTEMPT, EVENT, EVENT_MOVE, ITEM, ITEM_MOVE, REDRIVE } from "./state.sql";

const STATES = [...EVENT_STATUSES, ...REDRIVE_STATES, ...ITEM_STATES, ...ATTEMPT_STATES];
test("states and moves are SQL as the store's partial indexes spell them", () => {
  expect([EVENT.REDRIVEN, REDRIVE.RUNNING, ITEM.open, ATTEMPT.ambiguous]).toEqual([
    "'REDRIVEN'",
    "'RUNNING'",
    "'open'",
    "'ambiguous'",
  ]);
  expect(EVENT_MOVE.ignore).toEqual({ from: "('PENDING', 'QUEUED')", to: "'IGNORED'" });
  expect(ITEM_MOVE.cancel).toEqual({ from: "('open')", to: "'cancelled'" });
});

test("each state that a partial index of the migrations names is one of the machines", () => {
  const sql = execFileSync(
    "git",
    [
      "grep",
      "-hE",
      "^create .*index .* on (dlq_events|redrives|redrive_[a-z]+) .* where .*(status|state) ",
      "--",
      "prisma/migrations",
    ],
    {
      encoding: "utf8",
    },
  );
  const named = [...sql.matchAll(/\b(?:status|state) (?:=|in) \(?((?:'\w+'(?:, )?)+)/g)].flatMap((match) =>
    [...match[1]!.matchAll(/'(\w+)'/g)].map((word) => word[1]!),
  );
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((word) => !(STATES as string[]).includes(word))).toEqual([]);
});
