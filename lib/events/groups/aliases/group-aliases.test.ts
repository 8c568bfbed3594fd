import { expect, test } from "vitest";
import { type AliasRow, aliasesOf, groupOf } from "@/lib/events/groups/aliases/group-aliases.pure";
import { fingerprintOf } from "@/lib/events/groups/fingerprint.pure";

const failure = (message: string, errorCode = "TIMEOUT") =>
  fingerprintOf({ errorCode, error: { type: "BankDown", message, stack: null } });
const wobeku = failure("no answer from wobeku");
const till = failure("the till is closed");

const alias = (fingerprint: string, target: string): AliasRow => ({
  ...{ fingerprint, target, family: null, source: null, template: null },
});
const STORM: AliasRow = {
  ...{ fingerprint: "key", target: "storm", family: wobeku.family, source: "orders", template: "no answer from <*>" },
};

const inStorm = { ...wobeku, fingerprint: "storm", pattern: "no answer from <*>", family: "storm" };

test.each([
  ["itself", wobeku, "orders", [], wobeku],
  [
    "the one that it was merged into",
    till,
    "orders",
    [alias(till.fingerprint, "other")],
    { ...till, fingerprint: "other" },
  ],
  ["the storm of its family and source, whose template holds it", wobeku, "orders", [STORM], inStorm],
  ["itself in another source", wobeku, "billing", [STORM], wobeku],
  ["itself with another message", till, "orders", [STORM], till],
  ["itself with another error code", failure("no answer from wobeku", "OTHER"), "orders", [STORM], null],
  [
    "its own merge before the storm",
    wobeku,
    "orders",
    [STORM, alias(wobeku.fingerprint, "other")],
    { ...wobeku, fingerprint: "other" },
  ],
  [
    "itself when it is kept apart from the storm",
    wobeku,
    "orders",
    [STORM, alias(wobeku.fingerprint, wobeku.fingerprint)],
    wobeku,
  ],
  [
    "the second of two storms of its family",
    wobeku,
    "orders",
    [{ ...STORM, target: "first", template: "gone <*>" }, STORM],
    inStorm,
  ],
] as const)("a failure belongs to %s", (_, computed, source, rows, expected) => {
  expect(groupOf(computed, source, aliasesOf(rows))).toEqual(expected ?? computed);
});
