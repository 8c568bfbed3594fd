import { build } from "esbuild";
import { expect, test } from "vitest";
import { BUNDLES, BUNDLING } from "./build";

test("no program imports CommonJS at run time: a bundle gives such an import `default` and no names", async () => {
  const { metafile } = await build({
    ...BUNDLING,
    entryPoints: Object.values(BUNDLES),
    outdir: "dist",
    write: false,
    metafile: true,
  });
  const late = Object.entries(metafile.inputs).flatMap(([file, { imports }]) =>
    imports.flatMap(({ kind, path }) => (kind === "dynamic-import" ? [{ file, path }] : [])),
  );
  expect(late.length).toBeGreaterThan(50);
  expect(late.filter(({ path }) => metafile.inputs[path]?.format === "cjs")).toEqual([]);
});
