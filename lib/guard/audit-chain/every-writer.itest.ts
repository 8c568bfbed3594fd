import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { saveView } from "@/lib/events/views/save-view";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { verifyChain } from "@/lib/guard/audit-chain/verify-chain";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { consoleOfFile } from "@/lib/testing/console-of-file";

const web = consoleOfFile();

test("an entry of a change that Prisma writes waits for its seal, as every other", async () => {
  const { db } = web.deps;
  await saveView(web.deps, { name: "timeouts", filter: { errorCode: ["TIMEOUT"] } }, localViewer("ada"));
  expect(await db.query("select action from audit_entries")).toHaveLength(1);
  expect(await sealEntries(db)).toBe(1);
  expect(await verifyChain(db, { from: null, fromEntry: null })).toMatchObject({ good: true });
});

test("nothing else writes entries: whoever does must give them to the seal", () => {
  const writers = readdirSync("lib", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.(i?test|soak)\.ts$|(^|\/)testing\/|generated/.test(file))
    .filter((file) => /insert into audit_entries|auditEntry\.create/.test(readFileSync(join("lib", file), "utf8")));
  expect(writers.sort()).toEqual(["guard/audit/audit.write.ts", "platform/database/prisma.ts"]);
  for (const file of writers) expect(readFileSync(join("lib", file), "utf8")).toContain("into audit_pending");
});
