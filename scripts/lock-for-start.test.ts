import { globSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { lockForStart } from "./lock-for-start.mjs";

type Entry = { version?: string; dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> };
type Lock = { packages: Record<string, Entry> };

const read = (name: string) => JSON.parse(readFileSync(join(import.meta.dirname, "..", name), "utf8"));
const whole: Lock = read("package-lock.json");

test("a start installs the versions of the lockfile, and no tool of developers", () => {
  const { manifest, lock } = lockForStart(read("package.json"), whole);
  const names = Object.keys(lock.packages);
  for (const name of names.filter(Boolean)) expect(lock.packages[name].version).toBe(whole.packages[name]!.version);
  expect(names).toContain("node_modules/next");
  expect(names).toContain("node_modules/prisma");
  for (const tool of ["vitest", "playwright-core", "@biomejs/biome", "knip", "@prisma/studio-core", "sharp"])
    expect(names).not.toContain(`node_modules/${tool}`);
  expect([manifest.devDependencies, lock.packages[""].devDependencies]).toEqual([undefined, undefined]);
  expect(names.length).toBeLessThan(Object.keys(whole.packages).length * 0.6);
});

test("whatever a build and a start import is installed for a start", async () => {
  const root = join(import.meta.dirname, "..");
  const programs = [
    "scripts/{start,web-server,serve,pack-server}.ts",
    "workers/{main,demo-downstream}.ts",
    "prisma/seed.ts",
  ];
  const { metafile } = await build({
    absWorkingDir: root,
    // One entry that imports all: hundreds of entries take esbuild twice as long.
    stdin: {
      contents: globSync([...programs, "app/**/{page,layout,route,error,not-found,loading,global-error}.{ts,tsx}"], {
        cwd: root,
      })
        .map((file) => `import "./${file}";`)
        .join("\n"),
      resolveDir: root,
    },
    outdir: "unwritten",
    write: false,
    metafile: true,
    bundle: true,
    packages: "external",
    external: ["parkade:*"],
    loader: { ".css": "empty" },
    format: "esm",
    platform: "node",
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const external = imports.filter((one) => one.external).map(({ path }) => path);
  const names = external
    .filter((path) => !/^(node|parkade):/.test(path) && !builtinModules.includes(path))
    .map((path) =>
      path
        .split("/")
        .slice(0, path.startsWith("@") ? 2 : 1)
        .join("/"),
    );
  expect(names).toContain("next");
  const { lock } = lockForStart(read("package.json"), whole);
  expect([...new Set(names)].filter((name) => !(`node_modules/${name}` in lock.packages))).toEqual([]);
});

test("a package is taken from where Node would find it, and one that the lockfile lacks is named", () => {
  const packages = {
    "": { dependencies: { a: "1" } },
    "node_modules/a": { version: "1", dependencies: { b: "1", c: "1" } },
    "node_modules/b": { version: "2" },
    "node_modules/c": { version: "1", peerDependencies: { d: "*" }, peerDependenciesMeta: { d: { optional: true } } },
    "node_modules/d": { version: "1" },
    "node_modules/a/node_modules/b": { version: "1", dependencies: { c: "1" } },
  };
  const { lock } = lockForStart({ devDependencies: {} }, { packages });
  expect(Object.keys(lock.packages).sort()).toEqual([
    "",
    "node_modules/a",
    "node_modules/a/node_modules/b",
    "node_modules/c",
  ]);
  const without = { ...packages, "node_modules/c": undefined };
  Reflect.deleteProperty(without, "node_modules/c");
  expect(() => lockForStart({ devDependencies: {} }, { packages: without })).toThrow(
    "package-lock.json lacks c, which node_modules/a",
  );
});
