import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { commandLineOfFile, consoleOfFile } from "@/lib/testing/console-of-file";
import { addSource, deadLetter } from "@/lib/testing/letters";
import { workBulkOperation } from "@/workers/work-bulk-operation";

const parkade = consoleOfFile();
const commandLine = commandLineOfFile();
const folder = mkdtempSync(join(tmpdir(), "parkade-edit-"));

beforeAll(async () => {
  await addSource(parkade.deps.db, "orders");
  const letter = deadLetter({ eventId: "order-77-v3", payload: Buffer.from('{"order_no":1}') });
  await parkEvents(parkade.deps, [{ source: "orders", letter }], localViewer("tester"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...words: string[]) => commandLine.run(...words);

test("an event is edited from a file, its revisions are listed, and the first one is restored", async () => {
  const file = join(folder, "body.json");
  writeFileSync(file, '{"orderNo":12345678901234567890 }');
  const edited = ["edit", "order-77-v3", "--file", file, "--base", "1", "--reason", "renamed"];
  expect(await run(...edited)).toMatchObject({ code: 0, out: expect.stringMatching(/revision +2\n$/) });
  expect(await run("show", "order-77-v3", "--reason", "test", "--payload")).toMatchObject({
    out: '{"orderNo":12345678901234567890 }',
  });
  expect(await run("show", "order-77-v3", "--reason", "test", "--payload", "--revision", "1")).toMatchObject({
    out: '{"order_no":1}',
  });
  expect(await run(...edited)).toMatchObject({ code: 1, said: expect.stringContaining("stale-revision") });
  const restored = await run("restore", "order-77-v3", "--revision", "1", "--base", "2", "--reason", "no");
  expect(restored).toMatchObject({ code: 0, out: expect.stringMatching(/revision +1\n$/) });
  const { out } = await run("revisions", "order-77-v3");
  const [second, first] = out.split("\n").map((row) => row.split("\t"));
  expect(second!.slice(0, 5)).toEqual(["2", "edit", "1", "33 B", "0"]);
  expect(second!.slice(6)).toEqual(["maria", "renamed"]);
  expect(first!.slice(0, 3)).toEqual(["1 (current)", "arrived", ""]);
  expect(
    await run("edit", "order-77-v3", "--file", join(folder, "none"), "--base", "1", "--reason", "x"),
  ).toMatchObject({
    code: 2,
    said: expect.stringContaining("cannot be read"),
  });
});

test("events are mended by a recipe from a file or a saved one, and the mend is undone", async () => {
  const file = join(folder, "recipe.json");
  writeFileSync(file, '{"kind":"form","steps":[{"op":"rename","at":"/order_no","to":"orderNo"}]}');
  const select = ["mend", "--eventId", "order-77-v3"];
  const preview = await run(...select, "--recipe", file, "--preview");
  expect(preview).toMatchObject({ code: 0, out: expect.stringMatching(/would change +1\n/) });
  expect(preview.out).toContain("/orderNo");
  expect(await run("recipe", "save", "rename", "--recipe", file)).toMatchObject({ code: 0, out: "rename version 1\n" });

  const begun = await run(...select, "--saved", "rename", "--reason", "renamed", "--detach");
  expect(begun.code).toBe(0);
  const finish = (id: string) => workBulkOperation(parkade.deps, id.trim(), new AbortController().signal);
  await finish(begun.out);
  expect(await run("show", "order-77-v3", "--reason", "test", "--payload")).toMatchObject({ out: '{"orderNo":1}' });
  const again = await run(...select, "--recipe", file, "--reason", "renamed", "--yes");
  expect(again).toMatchObject({ code: 1, said: expect.stringContaining("would-change-nothing") });

  const undone = await run("undo-mend", begun.out.trim(), "--reason", "no", "--detach");
  await finish(undone.out);
  expect(await run("show", "order-77-v3", "--reason", "test", "--payload")).toMatchObject({ out: '{"order_no":1}' });
  expect(await run("recipe", "list")).toMatchObject({ out: expect.stringMatching(/rename\t1\tform/) });
  expect(await run("recipe", "remove", "rename")).toMatchObject({ code: 0 });
  expect(await run(...select, "--saved", "rename", "--preview")).toMatchObject({ code: 1 });
});

test("a dry run of a mend says which earlier versions hold its event, and takes them along", async () => {
  const letters = [3n, 5n].map((version) =>
    deadLetter({
      ...{ eventId: `held-v${version}`, aggregateId: "order-9\u001b[2J", version },
      payload: Buffer.from(version === 3n ? '{"orderNo":1}' : '{"order_no":1}'),
    }),
  );
  const sources = letters.map((letter) => ({ source: "orders", letter }));
  await parkEvents(parkade.deps, sources, localViewer("tester"));
  const file = join(folder, "held.json");
  writeFileSync(file, '{"kind":"form","steps":[{"op":"rename","at":"/order_no","to":"orderNo"}]}');
  const begun = await run("mend", "--eventId", "held-v5", "--recipe", file, "--reason", "renamed", "--yes", "--detach");
  const mended = begun.out.trim();
  await workBulkOperation(parkade.deps, mended, new AbortController().signal);

  const verify = ["verify", "--operation", mended, "--reason", "would it go?"];
  const held = await run(...verify);
  expect(held).toMatchObject({ code: 4, out: expect.stringMatching(/refused +1 \(held-by-head 1\)/) });
  expect(held.said).toContain("held-v5 is held: version 3 of order-9⟨001B⟩[2J (event held-v3) is parked before it");
  expect(held.said).toContain("--earlier include also sends the earlier versions");
  const along = await run(...verify, "--earlier", "include", "--preview");
  expect(along).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      /would be taken +2\n.*\ndry run +2 of 2 checked would be refused: target-unreachable 1, held-by-head 1\nfor example +held-v3: /s,
    ),
  });
  expect(along.out).not.toContain("see --earlier");
});

test("show names where a message was, and tells no body and no value from empty ones; redrive takes the producer's id", async () => {
  const letter = deadLetter({
    ...{ eventId: "gone-1", payload: new Uint8Array(), headers: [["x-tenant", null]] as never },
    origin: {
      topic: "orders",
      partition: 3,
      offset: "330",
      key: "b3JkZXItMQ==",
      absentBody: true,
      consumer: "billing",
    },
  });
  await parkEvents(parkade.deps, [{ source: "orders", letter }], localViewer("tester"));
  const { out } = await run("show", "gone-1");
  expect(out).toMatch(/^origin topic +orders$/m);
  expect(out).toMatch(/^origin partition +3$/m);
  expect(out).toMatch(/^origin offset +330$/m);
  expect(out).toMatch(/^origin consumer +billing$/m);
  expect(out).toMatch(/^origin key +order-1$/m);
  expect(out).toMatch(/^x-tenant +\(no value\)$/m);
  expect(out).toContain("(no body: a tombstone, which is not an empty payload)");
  expect(await run("redrive", "gone-1", "--preview")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^selected +1$/m),
  });
  expect(await run("redrive", "gone-2", "--preview")).toMatchObject({
    code: 1,
    said: expect.stringContaining("no event gone-2"),
  });
  const one = await run("search", "--limit", "1");
  expect(one.said).toContain("There are more than this one: --limit");
});
