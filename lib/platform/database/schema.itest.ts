import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Prisma } from "@/lib/platform/database/generated/client";
import { openSchemaEngine } from "@/lib/platform/database/testing/schema-engine";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";

const PATH = "prisma/schema.prisma";

/** What the engine says of objects that it leaves out, without their names. */
const LEFT_OUT = /^(?!\s|\*|These .* were enriched).+$/gm;

let database: TestDatabase;
let engine: Awaited<ReturnType<typeof openSchemaEngine>>;
beforeAll(async () => {
  database = await testDatabase();
  engine = await openSchemaEngine(database.url);
});
afterAll(async () => {
  engine.free();
  await database.drop({ force: true });
});

async function schemaFiles() {
  return { files: [{ path: PATH, content: await readFile(PATH, "utf8") }] };
}

/** After a migration `npx vitest run --project integration lib/platform/database/schema.itest.ts -u` brings schema.prisma in step. */
describe("schema.prisma and the migrated database", () => {
  test("have every table, column, type, default, key and index in common", async () => {
    const pulled = await engine.introspect({
      schema: await schemaFiles(),
      baseDirectoryPath: ".",
      force: false,
      compositeTypeDepth: -1,
      namespaces: null,
    });
    await expect(pulled.schema.files[0]!.content).toMatchFileSnapshot(`../../../${PATH}`);
    // Check constraints and indexes over expressions. Whatever else Prisma cannot model would be listed here, too.
    expect(pulled.warnings?.match(LEFT_OUT)?.map((line) => line.split(", ")[0])).toEqual([
      "These constraints are not supported by Prisma Client",
      "These indexes are not supported by Prisma Client",
    ]);
  });

  test("give a client to what people change by hand, and leave the hot tables to SQL", () => {
    const admission = ["AdmissionRevision", "AdmissionRule", "AdmissionRuleVersion"];
    const rules = ["RedriveRule", "RedriveRuleRevision"];
    const others = ["SavedView", "Setting", "Source", "Target"];
    const models = [...admission, "AuditEntry", "Control", "PayloadSchema", "Policy", "Recipe", ...rules, ...others];
    expect(Object.keys(Prisma.ModelName).sort()).toEqual(models);
  });

  test("need no migration between them", async () => {
    const files = await schemaFiles();
    const diff = await engine.diff({
      from: { tag: "schemaDatasource", configDir: ".", ...files },
      to: { tag: "schemaDatamodel", ...files },
      script: true,
      exitCode: true,
      filters: { externalTables: [], externalEnums: [] },
    });
    expect(diff.stdout).toBe("-- This is an empty migration.\n");
  });
});
