import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { openSchemaEngine } from "@/lib/platform/database/testing/schema-engine";
import { testDatabase } from "@/lib/testing/postgres";

const PATH = "prisma/schema.prisma";
const MODEL = /\n\n(?:\/\/\/.*\n)*model (\w+) \{\n(?:(?!\}).*\n)*\}/g;

/** After a migration `npx vitest run --project integration lib/platform/database/schema.itest.ts -u` brings the models in step. */
test("the models of schema.prisma have every column, type, default, key and index of the migrated database", async () => {
  const database = await testDatabase();
  const engine = await openSchemaEngine(database.url);
  try {
    const written = await readFile(PATH, "utf8");
    const pulled = await engine.introspect({
      schema: { files: [{ path: PATH, content: written }] },
      baseDirectoryPath: ".",
      force: false,
      compositeTypeDepth: -1,
      namespaces: null,
    });
    const kept = new Set(Array.from(written.matchAll(MODEL), ([, model]) => model));
    const models = pulled.schema.files[0]!.content.replace(MODEL, (text, model) => (kept.has(model) ? text : ""));
    const reasons = written.slice(0, written.indexOf("generator "));
    await expect(reasons + models).toMatchFileSnapshot(`../../../${PATH}`);
  } finally {
    engine.free();
    await database.drop({ force: true });
  }
});
