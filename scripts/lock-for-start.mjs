/** What nothing of a start loads: Prisma's studio and its local databases, and Next's picture library, which is switched off. */
const LEFT_OUT = ["@prisma/dev", "@prisma/studio-core", "mysql2", "postgres", "sharp"];

/**
 * package.json and package-lock.json of an install without the tools of developers: `dependencies` and what they need, in
 * the versions of the whole lockfile. `npm ci --omit=dev` would keep what is an optional peer of some package: Prisma's
 * studio, Playwright. Throws when the lockfile lacks a package that is needed.
 */
export function lockForStart({ devDependencies: _, ...manifest }, lock) {
  const { devDependencies: __, ...root } = lock.packages[""];
  const kept = { "": root };
  const keep = (path) => {
    const entry = lean(lock.packages[path]);
    kept[path] = entry;
    for (const [name, isOptional] of needsOf(entry)) {
      const found = placeOf(name, path, lock.packages);
      if (found === undefined && !isOptional) throw new Error(`package-lock.json lacks ${name}, which ${path} needs`);
      if (found !== undefined && !(found in kept)) keep(found);
    }
  };
  for (const [name] of needsOf(root)) keep(`node_modules/${name}`);
  return { manifest, lock: { ...lock, packages: kept } };
}

function lean(entry) {
  const without = (names = {}) =>
    Object.fromEntries(Object.entries(names).filter(([name]) => !LEFT_OUT.includes(name)));
  const peers = Object.entries(entry.peerDependencies ?? {}).filter(
    ([name]) => !entry.peerDependenciesMeta?.[name]?.optional,
  );
  const { dev: _, devOptional: __, peerDependenciesMeta: ___, ...rest } = entry;
  return {
    ...rest,
    dependencies: without(entry.dependencies),
    optionalDependencies: without(entry.optionalDependencies),
    peerDependencies: Object.fromEntries(peers),
  };
}

function needsOf({ dependencies = {}, optionalDependencies = {}, peerDependencies = {} }) {
  const required = [...Object.keys(dependencies), ...Object.keys(peerDependencies)];
  return [...required.map((name) => [name, false]), ...Object.keys(optionalDependencies).map((name) => [name, true])];
}

/** Where Node finds the package `name` when the one at `from` asks for it. */
function placeOf(name, from, packages) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const path = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (path in packages || at === "") return path in packages ? path : undefined;
  }
}
