import { describe, expect, test } from "vitest";
import { type LockedPackage, type Manifest, type Refused, supplyFaults } from "./supply-faults.ts";

const HASH = `sha512-${"A".repeat(86)}==`;
const REFUSED: Refused = {
  floors: [{ name: "next", from: "16.2.6", why: "CVE-1" }],
  incidents: [{ what: "one hijacked account", packages: { chalk: ["5.6.1"] } }],
};

function faultsOf(packages: Record<string, LockedPackage>, manifest: Partial<Manifest> = {}): string[] {
  const lock = {
    lockfileVersion: 3,
    packages: Object.fromEntries(
      Object.entries(packages).map(([name, locked]) => [
        `node_modules/${name}`,
        { version: "1.0.0", license: "MIT", integrity: HASH, ...locked },
      ]),
    ),
  };
  return supplyFaults({ devDependencies: {}, ...manifest }, lock, REFUSED, new Set(Object.keys(lock.packages)));
}

describe("faults of packages", () => {
  test("none of what has a hash, a licence, and no script", () => {
    expect(faultsOf({ pg: {}, "@scope/part": {}, "a/node_modules/next": { version: "16.2.6" } })).toEqual([]);
  });

  test.each<[string, Record<string, LockedPackage>, RegExp]>([
    ["a missing hash", { pg: { integrity: undefined } }, /pg has no sha512/],
    ["a weak hash", { pg: { integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" } }, /pg has no sha512/],
    ["another registry", { pg: { resolved: "git+ssh://git@example.com/pg.git" } }, /pg comes from git/],
    ["a script that nobody allowed", { pg: { hasInstallScript: true } }, /pg runs a script/],
    ["a version below a floor", { next: { version: "16.2.5" } }, /next is 16.2.5, older than 16.2.6: CVE-1/],
    ["the same below another package", { "a/node_modules/next": { version: "15.9.9" } }, /older than 16.2.6/],
    ["a version that was tampered with", { chalk: { version: "5.6.1" } }, /one hijacked account/],
    ["a licence that obliges", { pg: { license: "AGPL-3.0-only" } }, /pg is under AGPL/],
    ["one of two licences that obliges", { pg: { license: "MIT AND GPL-3.0-only" } }, /pg is under MIT AND GPL/],
    ["no licence", { pg: { license: undefined } }, /pg names no licence/],
  ])("names %s", (_, packages, words) => {
    expect(faultsOf(packages)).toEqual([expect.stringMatching(words)]);
  });

  test("one licence of a choice is enough", () => {
    expect(faultsOf({ pg: { license: "(GPL-3.0-only OR MIT)" } })).toEqual([]);
  });

  test("a script that is named may run, or is left out", () => {
    expect(
      faultsOf(
        { a: { hasInstallScript: true }, b: { hasInstallScript: true } },
        { allowScripts: { a: true, b: false } },
      ),
    ).toEqual([]);
  });

  test("a range in package.json is one", () => {
    expect(
      faultsOf({}, { dependencies: { pg: "^8.0.0", a: "1.0.0-rc.1" }, devDependencies: { b: "npm:c@1.0.0" } }),
    ).toEqual(["package.json asks for pg ^8.0.0: name one version"]);
  });
});
