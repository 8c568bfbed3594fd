import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockForStart } from "../lock-for-start.mjs";
import { runTool } from "../run-tool.ts";
import { StartError } from "../start-error.ts";
import type { Lockfile, Manifest } from "./supply-faults.ts";

const ROOT = join(import.meta.dirname, "../..");

/**
 * Writes into `folder` what Parkade is made of: `sbom.cdx.json`, a CycloneDX bill of materials by npm with every package that
 * a start or a build of it uses, and `THIRD-PARTY-LICENSES.txt`, the texts of their licences. Throws StartError in npm's words.
 */
export async function writeSoftwareList(folder: string): Promise<void> {
  const { manifest, lock } = lockForStart(read<Manifest>("package.json"), read<Lockfile>("package-lock.json"));
  writeFileSync(join(folder, "sbom.cdx.json"), await billOf(manifest, lock));
  writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), licencesOf(lock));
}

function read<T>(path: string): T {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}

/** In a folder of its own: npm describes the lockfile that it stands beside. */
async function billOf(manifest: object, lock: object): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "parkade-bill-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    writeFileSync(join(folder, "package-lock.json"), JSON.stringify(lock));
    const args = [
      "sbom",
      "--package-lock-only",
      "--sbom-format=cyclonedx",
      "--sbom-type=application",
      "--loglevel=error",
    ];
    const { code, output } = await runTool("npm", args, { cwd: folder });
    if (code !== 0) throw new StartError(`The bill of materials could not be made:\n${output}`);
    const bill = JSON.parse(output.slice(output.indexOf("{"), output.lastIndexOf("}") + 1));
    // npm takes the name of the folder.
    bill.metadata.component.name = "parkade";
    return `${JSON.stringify(bill, null, 2)}\n`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const LICENCE_FILE = /^(licen[cs]e|copying|notice)([.-].*)?$/i;

/** Of the packages that are installed here; those of other platforms have the licence of the package that names them. */
function licencesOf({ packages }: Lockfile): string {
  return Object.entries(packages)
    .filter(([path]) => path !== "" && existsSync(join(ROOT, path)))
    .map(([path, { version, license }]) => {
      const texts = readdirSync(join(ROOT, path))
        .filter((name) => LICENCE_FILE.test(name))
        .map((name) => readFileSync(join(ROOT, path, name), "utf8").trim());
      const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
      return `${name} ${version} (${license})\n\n${texts.join("\n\n") || "The package holds no text of its licence."}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}
