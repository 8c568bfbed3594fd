import { readFileSync } from "node:fs";
import { join } from "node:path";
import { lockForStart } from "../lock-for-start.mjs";
import { type Lockfile, type Manifest, type Refused, supplyFaults } from "./supply-faults.ts";

const ROOT = join(import.meta.dirname, "../..");

function read<T>(path: string): T {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}

/** Prints each fault of the packages and ends with code 1 when there is one. */
if (import.meta.main) {
  const manifest = read<Manifest>("package.json");
  const lock = read<Lockfile>("package-lock.json");
  const shipped = new Set(Object.keys(lockForStart(manifest, lock).lock.packages));
  const faults = supplyFaults(manifest, lock, read<Refused>("scripts/supply/refused.json"), shipped);
  for (const fault of faults) console.log(fault);
  if (faults.length > 0) process.exitCode = 1;
}
