import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Phrases of earlier versions of the console, each with the words that replaced it. */
const REPLACED: [phrase: RegExp, by: string][] = [
  [/\b(?:is|are|be) told\b/i, "is notified, gets a message"],
  [/\btold (?:again|to nobody|of)\b/i, "repeated, sent again"],
  [/\bhears? (?:of|so)\b/i, "gets a message"],
  [/\bas it stands\b/i, "shown"],
  [/\bthe same again\b/i, "repeat"],
  [/\bmake an? (?:account|token|channel|rule)\b/i, "create"],
  [/\bnone ticked\b/i, "if you select none"],
  [/\bi have (?:kept|passed) it\b/i, "done"],
  [/\bthose to come\b/i, "future"],
  [/\bhas last looked\b/i, "last run"],
  [/\bby chance\b/i, "random"],
  [/\bfor ever\b/i, "permanently, always"],
  [/\bthere is no such\b/i, "not found"],
  [/\b(?:came|comes|come) back\b/i, "bounced, returned"],
  [/\bcustomary (?:places|names)\b/i, "standard"],
  [/ caught now\b|\bcatches (?:nothing|\d|<)/i, "matched"],
  [/\bstands? still\b/i, "stalls"],
  [/\blies? in the archive\b/i, "is in the archive"],
  [/\bby themselves\b/i, "automatically"],
  [/\bwhat (?:comes|it (?:catches|caught))\b/i, "new events, events that it matches"],
  [/\bthis was not done\b/i, "request failed"],
  [/\bshown this once\b/i, "shown once"],
  [/\bthe own account\b/i, "your account"],
  [/\bmeanwhile\b(?!")/i, "in the meantime"],
];

const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

test("the console says nothing in words that were replaced", () => {
  const files = execFileSync("git", ["ls-files", "components", "app"], { encoding: "utf8" }).split("\n");
  const found = files
    .filter((file) => /\.tsx?$/.test(file) && !/\.(?:itest|test)\.tsx?$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(file, "utf8").replace(COMMENTS, "");
      return REPLACED.flatMap(([phrase, by]) => {
        const [said] = phrase.exec(text) ?? [];
        return said === undefined ? [] : [`${file}: "${said}": ${by}`];
      });
    });
  expect(found).toEqual([]);
});
