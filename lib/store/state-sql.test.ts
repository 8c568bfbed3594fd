import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ATTEMPT_STATES } from "@/lib/core/attempt-state";
import { EVENT_STATUSES } from "@/lib/core/event-state";
import { ITEM_STATES } from "@/lib/core/item-state";
import { REDRIVE_STATES } from "@/lib/core/redrive-state";
import { ATTEMPT, EVENT, EVENT_MOVE, ITEM, ITEM_MOVE, REDRIVE } from "./state-sql";

const STATES = [...EVENT_STATUSES, ...REDRIVE_STATES, ...ITEM_STATES, ...ATTEMPT_STATES];
/** A state between single quotes: the formatter leaves single quotes to the text of SQL. */
const LITERAL = new RegExp(`'(${[...new Set(STATES)].join("|")})'`);

function literalsIn(text: string): string[] {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .split("\n")
    .filter((line) => !/^\s*(\/\/|--)/.test(line) && LITERAL.test(line));
}

test("no SQL but that of state-sql.ts names a state", () => {
  const files = execFileSync(
    "git",
    ["ls-files", "-co", "--exclude-standard", "app", "components", "lib", "prisma", "workers"],
    { encoding: "utf8" },
  )
    .split("\n")
    .filter(
      (file) => /\.tsx?$/.test(file) && !/\.(test|itest|conformance)\.tsx?$|(^|\/)testing\/|generated\//.test(file),
    );
  expect(files).toContain("lib/store/write/finish-items.ts");
  const found = files.flatMap((file) =>
    literalsIn(readFileSync(file, "utf8")).map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

test("a state in SQL is found, a word in a comment is not", () => {
  expect(literalsIn("`update dlq_events set status = 'PENDING'`")).toHaveLength(1);
  expect(literalsIn("\"select id from redrive_items where state = 'open'\"")).toHaveLength(1);
  expect(literalsIn("// 'PENDING' is the default\n/* or 'open' */")).toEqual([]);
});

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
