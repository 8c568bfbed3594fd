import { afterAll, beforeAll, expect, test } from "vitest";
import { type Deps, setDeps } from "@/app/_server/deps";
import * as route from "@/app/(guard)/api/v1/audit/export/route";
import { appendAudit } from "@/lib/guard/audit/audit.write";
import type { ExportedEntry } from "@/lib/guard/audit-chain/audit-export.read";
import { sealEntries } from "@/lib/guard/audit-chain/seal-entries";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { addSource } from "@/lib/testing/letters";

const ADA = localViewer("ada");
const EVE: Viewer = { name: "eve", means: "session", sources: ["billing"], actions: ["view", "export"] };
let web: TestConsole;

beforeAll(async () => {
  web = await testConsole();
  for (const source of ["orders", "billing"]) await addSource(web.deps.db, source);
  await append("source", "orders", { after: { mode: "live" } });
  await append("source", "billing", { after: { mode: "live" } });
  await append("recipe", "mend", { after: { recipe: [{ op: "replace", path: "/password", value: "hunter-canary" }] } });
  await append("session", "s-1");
});
afterAll(() => web.close());

const append = (subjectKind: "source" | "recipe" | "session", subjectId: string, more: { after?: unknown } = {}) =>
  web.deps.db.transaction((tx) => {
    const facts = { actor: "maria", action: `${subjectKind}.changed`, subjectKind, subjectId, count: 1, before: null };
    return appendAudit(tx, { ...facts, after: null, ...more, atMs: web.deps.clock.wallMs() });
  });

async function exported(viewer: Viewer, query = "") {
  setDeps({ ...web.deps, identify: () => viewer } satisfies Deps);
  const { status, headers, text } = await web.call(route.GET, { query });
  const lines = text.split("\n").filter(Boolean);
  return { status, headers, text, entries: lines.map((line) => JSON.parse(line) as ExportedEntry) };
}

const subjects = (entries: ExportedEntry[]) =>
  entries.map(({ subjectKind, subjectId }) => `${subjectKind} ${subjectId}`);

test("each line is an entry with its seal, which is null until the entry is sealed", async () => {
  const waiting = await exported(ADA);
  expect(waiting.headers.get("content-type")).toBe("application/x-ndjson");
  expect(subjects(waiting.entries)).toEqual(["session s-1", "recipe mend", "source billing", "source orders"]);
  expect(waiting.entries.map(({ seal }) => seal)).toEqual([null, null, null, null]);
  await sealEntries(web.deps.db);
  const { entries } = await exported(ADA);
  const stored = await web.deps.db.query<{ id: string; seal: object }>(
    `select entry_id as id, jsonb_build_object('seq', seq, 'chainHash', encode(chain_hash, 'hex')) as seal
       from audit_seals order by entry_id desc`,
  );
  expect(entries.map(({ id, seal }) => ({ id, seal }))).toEqual(stored);
  expect(entries.map(({ seal }) => seal?.seq)).toEqual([4, 3, 2, 1]);
});

test("a viewer of one source gets the entries of that source alone, with the filter of the list", async () => {
  const { entries, text } = await exported(EVE);
  expect(subjects(entries)).not.toContain("source orders");
  expect(subjects(entries)).toContain("source billing");
  expect(text).not.toMatch(/orders|s-1/);
  expect(subjects((await exported(ADA, "?subjectKind=source&subjectId=orders")).entries)).toEqual(["source orders"]);
});

test("a recipe's secret is masked for who may not reveal, and nothing is exported without the right to", async () => {
  const clerk: Viewer = { ...ADA, actions: ["view", "export"] };
  const { text, entries } = await exported(clerk, "?subjectKind=recipe");
  expect(text).not.toContain("hunter-canary");
  expect(entries[0]!.after).toEqual({ recipe: [{ op: "replace", path: "/password", value: REDACTED }] });
  expect((await exported(ADA, "?subjectKind=recipe")).text).toContain("hunter-canary");
  const refused = await exported({ ...ADA, actions: ["view"] });
  expect(refused.status).toBe(403);
  expect(refused.text).not.toContain("mend");
});
