import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

/**
 * The first versions without a known hole that a stranger could use here, of packages that read what strangers send or hold the
 * console together. A package of an older line is refused as well. Raise a floor with each advisory; docs/hardening.md says how.
 */
const FLOORS: Record<string, { floor: string; why: string }> = {
  next: {
    floor: "16.3.3",
    why: "CVE-2025-55182 and its successors in Server Functions; CVE-2026-44578, upgrade requests; CVE-2026-64641, GHSA-2xp9-vwfh-vxw4, CVE-2026-75604",
  },
  react: {
    floor: "19.2.6",
    why: "the line of react-server-dom without CVE-2025-55182, -55183, -55184, CVE-2026-23870",
  },
  "react-dom": { floor: "19.2.6", why: "as react" },
  ajv: { floor: "8.18.0", why: "CVE-2025-69873: a schema with $data made a pattern that does not end" },
  nodemailer: {
    floor: "7.0.11",
    why: "CVE-2025-13033 and CVE-2025-14874: a mail went to other recipients, an address that does not end",
  },
  undici: { floor: "7.18.2", why: "CVE-2026-22036: an answer with many encodings filled the memory" },
  protobufjs: {
    floor: "7.5.6",
    why: "CVE-2023-36665: a message wrote into prototypes; CVE-2026-44291, in 8 below 8.0.2",
  },
  "fast-uri": { floor: "3.1.6", why: "the advisories before it: ajv reads references of schemas with it" },
  "@grpc/grpc-js": { floor: "1.14.4", why: "the advisories before it: Pub/Sub is reached with it" },
};

type Lock = { packages: Record<string, { version?: string }> };

const lock = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock;

function isBelow(version: string, floor: string): boolean {
  const [have, need] = [version, floor].map((text) => text.split("-", 1)[0]!.split(".").map(Number));
  const differs = need!.findIndex((part, index) => part !== have![index]);
  return differs !== -1 && (have![differs] ?? 0) < need![differs]!;
}

test.each([
  ["16.0.6", "16.0.7", true],
  ["16.0.7", "16.0.7", false],
  ["15.9.9", "16.0.7", true],
  ["16.10.0", "16.9.9", false],
  ["19.2.10-canary.1", "19.2.9", false],
])("%s is below %s: %s", (version, floor, below) => expect(isBelow(version, floor)).toBe(below));

test.each(Object.entries(FLOORS))("every installed %s is without the known holes", (name, { floor, why }) => {
  const installed = Object.entries(lock.packages).filter(([path]) => path.endsWith(`node_modules/${name}`));
  expect(installed.length, `${name} is not installed: take its floor out`).toBeGreaterThan(0);
  const old = installed.filter(([, { version = "0" }]) => isBelow(version, floor));
  expect(old.map(([path, { version }]) => `${path} ${version} is below ${floor}: ${why}`)).toEqual([]);
});

test("no file is a Server Action: they are endpoints that no route lists and no guard of ours knows", () => {
  const files = globSync("{app,components,lib}/**/*.{ts,tsx}").filter(
    (file) => !/\.(test|itest|soak)\.tsx?$/.test(file),
  );
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((file) => /["']use server["']/.test(readFileSync(file, "utf8")))).toEqual([]);
});
