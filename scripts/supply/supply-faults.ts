/** What package-lock.json says of one package, as far as the rules read it. */
export type LockedPackage = {
  version?: string;
  license?: string;
  integrity?: string;
  resolved?: string;
  dev?: boolean;
  link?: boolean;
  hasInstallScript?: boolean;
};

export type Lockfile = { lockfileVersion: number; packages: Record<string, LockedPackage> };

export type Manifest = {
  dependencies?: Record<string, string>;
  devDependencies: Record<string, string>;
  /** Packages whose install scripts npm runs, and those that it leaves out. */
  allowScripts?: Record<string, boolean>;
};

export type Refused = {
  floors: { name: string; from: string; why: string }[];
  incidents: { what: string; packages: Record<string, string[]> }[];
};

/** Licences under which Parkade may be handed on: permissive ones, and MPL, whose files stay as they are. */
const LICENCES = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC-BY-4.0",
  "ISC",
  "MIT",
  "MIT-0",
  "MPL-2.0",
  "SIL OPEN FONT LICENSE",
  "Unlicense",
]);

/** Faults in words; none = the packages may be installed and handed on. `shipped`: paths of the lockfile that a start installs. */
export function supplyFaults(
  manifest: Manifest,
  lock: Lockfile,
  refused: Refused,
  shipped: ReadonlySet<string>,
): string[] {
  const packages = Object.entries(lock.packages)
    .filter(([path, { link }]) => path !== "" && !link)
    .map(([path, locked]) => ({ path, name: nameOf(path), ...locked }));
  return [
    ...(lock.lockfileVersion === 3 ? [] : ["package-lock.json is not of version 3: write it with npm 9 or newer"]),
    ...versionFaults(manifest),
    ...packages.flatMap(originFaults),
    ...packages.flatMap((locked) => scriptFaults(locked, manifest.allowScripts ?? {})),
    ...packages.flatMap((locked) => refusedFaults(locked, refused)),
    ...packages.filter(({ path }) => shipped.has(path)).flatMap(licenceFaults),
  ];
}

type Named = LockedPackage & { path: string; name: string };

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}

/** A range would let an install without the lockfile choose. */
function versionFaults({ dependencies = {}, devDependencies }: Manifest): string[] {
  return Object.entries({ ...dependencies, ...devDependencies })
    .filter(([, version]) => !/^(npm:[\w.@/-]+@)?\d+\.\d+\.\d+(-[\w.-]+)?$/.test(version))
    .map(([name, version]) => `package.json asks for ${name} ${version}: name one version`);
}

/** Without its hash npm would install whatever the registry answers; from elsewhere nobody says what it is. */
function originFaults({ path, integrity, resolved }: Named): string[] {
  const faults = [];
  if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ""))
    faults.push(
      `${path} has no sha512 in package-lock.json: add what \`npm view <name>@<version> dist.integrity\` says`,
    );
  if (resolved !== undefined && !resolved.startsWith("https://registry.npmjs.org/"))
    faults.push(`${path} comes from ${resolved}: take it from the registry of npm`);
  return faults;
}

function scriptFaults({ path, name, hasInstallScript }: Named, allowed: Record<string, boolean>): string[] {
  if (!hasInstallScript || name in allowed) return [];
  return [`${path} runs a script when it is installed: name it in allowScripts of package.json, as allowed or not`];
}

function refusedFaults({ path, name, version = "0.0.0" }: Named, { floors, incidents }: Refused): string[] {
  const floor = floors.find((one) => one.name === name && isBelow(version, one.from));
  const incident = incidents.find(({ packages }) => packages[name]?.includes(version));
  return [
    ...(floor ? [`${path} is ${version}, older than ${floor.from}: ${floor.why}`] : []),
    ...(incident ? [`${path} is ${version}, a version that was tampered with: ${incident.what}`] : []),
  ];
}

/** By the three numbers alone: a pre-release counts as its release. */
function isBelow(version: string, floor: string): boolean {
  const [one, other] = [version, floor].map((text) => text.split(/[.+-]/).slice(0, 3).map(Number));
  const at = other!.findIndex((part, index) => part !== one![index]);
  return at !== -1 && one![at]! < other![at]!;
}

function licenceFaults({ path, license }: Named): string[] {
  if (license === undefined)
    return [`${path} names no licence in package-lock.json: add the one that npm shows for it`];
  const anyOf = license.replace(/[()]/g, "").split(/ or /i);
  const fits = anyOf.some((terms) => terms.split(/ and /i).every((term) => LICENCES.has(term.trim())));
  return fits ? [] : [`${path} is under ${license}, which is not among those that Parkade is handed on with`];
}
