import { describe, expect, it, test } from "vitest";
import type { Shell } from "@/lib/cli/commands/program";
import type { Names } from "./command";
import { candidates } from "./completion";

const namesOf = async (names: Names) => ({ sources: ["billing", "orders"], targets: ["orders.audit"] })[names];
/** The last word is the one under the cursor. */
const of = (words: string[], shell: Shell = "bash") => candidates(shell, words, namesOf);

test.each([
  [
    ["re"],
    [
      "replay",
      "revisions",
      "restore",
      "release",
      "recipe",
      "redrive",
      "redrives",
      "resume",
      "remove",
      "retention",
      "reject",
      "redrive-rule",
    ],
  ],
  [
    ["source", ""],
    ["list", "add", "probe", "set", "pause", "drain", "stop", "resume"],
  ],
  [
    ["source", "p"],
    ["probe", "pause"],
  ],
  [
    ["source", "probe", ""],
    ["billing", "orders"],
  ],
  [["source", "probe", "o"], ["orders"]],
  [["search", "--st"], ["--status"]],
  [["search", "--status", "P"], ["PENDING"]],
  [
    ["search", "--source", ""],
    ["billing", "orders"],
  ],
  [["search", "--limit", ""], []],
  [["redrive", "--target", ""], ["orders.audit"]],
  [["target", "remove", "o"], ["orders.audit"]],
  [["redrive", "--earlier", "in"], ["include"]],
  [
    ["control", ""],
    ["list", "blacklist", "cooldown", "whitelist", "lift"],
  ],
  [
    ["audit", "--subjectKind", "re"],
    ["redrive", "redrive-rule", "recipe", "retention"],
  ],
  [
    ["completion", ""],
    ["bash", "zsh"],
  ],
  [["completion", "bash", ""], []],
  [["nonsense", ""], []],
  [["--url", "http://x", "sho"], ["show"]],
])("%j is completed with %j", async (words, expected) => expect(await of(words)).toEqual(expected));

describe("an option", () => {
  it("is offered once, unless it may be given several times", async () => {
    const left = await of(["search", "--limit", "5", "--source", "orders", "--"]);
    expect(left).not.toContain("--limit");
    expect(left).toEqual(expect.arrayContaining(["--source", "--tag.", "--json"]));
  });

  it("has its value behind an equals sign, in the way of each shell", async () => {
    // bash splits at the equals sign and replaces what is behind it.
    expect(await of(["search", "--status", "=", "BO"])).toEqual(["BOUNCED"]);
    expect(await of(["search", "--status", "=", "BOUNCED", "--lim"])).toEqual(["--limit"]);
    expect(await of(["search", "--status=BO"], "zsh")).toEqual(["--status=BOUNCED"]);
  });
});
