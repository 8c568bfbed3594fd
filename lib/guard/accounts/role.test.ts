import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ACTIONS } from "@/lib/guard/viewer/viewer.pure";
import { OF_PERSONS, ROLE_ACTIONS, ROLES } from "./role.pure";

test("docs/sign-in.md lists each action, from which role on it is had, and which are for people alone", () => {
  const has = (role: (typeof ROLES)[number], action: (typeof ACTIONS)[number]) =>
    ROLE_ACTIONS[role] === "all" || ROLE_ACTIONS[role].includes(action);
  const expected = ACTIONS.map((action) => {
    const from = ROLES.findIndex((role) => has(role, action));
    // "From" holds only while each role has what the one before it has.
    expect(ROLES.slice(from).every((role) => has(role, action))).toBe(true);
    return [action, `${ROLES[from]}${OF_PERSONS.includes(action) ? ", people" : ""}`];
  });
  const [, table = ""] = readFileSync("docs/sign-in.md", "utf8").split(/^\| action .*\n.*\n/m);
  const rows = [...table.split("\n\n", 1)[0]!.matchAll(/^\| `(.+?)` +\| .+? \| (.+?) +\|$/gm)];
  expect(rows.map(([, action, from]) => [action, from])).toEqual(expected);
});
