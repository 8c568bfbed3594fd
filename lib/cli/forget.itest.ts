import { beforeAll, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { workForget } from "@/lib/keep/forget/work-forget";
import { commandLineOfFile, consoleOfFile } from "@/lib/testing/console-of-file";
import { addSource, deadLetter } from "@/lib/testing/letters";

const parkade = consoleOfFile();
const commandLine = commandLineOfFile();
beforeAll(() => addSource(parkade.deps.db, "orders"));

const run = (...words: string[]) => commandLine.run(...words);
const because = ["--reason", "request 311"];
const of = (person: string) => ["--aggregateId", person, ...because];

async function park(person: string, count = 1): Promise<void> {
  const letters = Array.from({ length: count }, (_, at) => ({
    source: "orders",
    letter: deadLetter({ eventId: `${person}-${at}`, aggregateId: person, tags: { person } }),
  }));
  await parkEvents(parkade.deps, letters, localViewer("tester"));
}

/** As a send leaves it before its quiet window has passed. */
const send = (person: string) =>
  parkade.deps.db.run("update dlq_events set status = 'REDRIVEN', redrive_at = now() where aggregate_id = $1", [
    person,
  ]);

/** `parkade forget` with a worker at work. */
async function forget(...words: string[]) {
  const waiting = commandLine.begin(["forget", ...words, "--yes"]);
  const begun = () => /Forget ([0-9a-f-]{36}): a worker does it/.exec(waiting.said())?.[1];
  await expect.poll(begun).toBeDefined();
  await workForget(parkade.deps, begun()!, new AbortController().signal);
  return { id: begun()!, ...(await waiting.ended) };
}

test("a person is counted, forgotten and reported, and named nowhere", async () => {
  expect(await run("forget", ...because)).toMatchObject({
    code: 2,
    said: expect.stringContaining("name one of --tag, --aggregateId and --payload"),
  });
  await park("person-7");
  expect(await run("forget", ...of("person-7"), "--preview")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/events +1\nwould stay +0\narchived +0\n/),
  });
  const { id, ...ended } = await forget(...of("person-7"));
  expect(ended).toMatchObject({ code: 0, said: expect.stringContaining("Keep the receipt") });
  expect(ended.out).toMatch(/state +DONE\nkey +aggregateId\nevents +1\n/);
  expect(ended.out).toMatch(/stayed +0\n/);
  expect(ended.out + ended.said).not.toContain("person-7");
  expect(await run("forget", "show", id)).toEqual({ code: 0, out: ended.out, said: "" });
  const [row] = (await run("forget", "list")).out.split("\n");
  expect(row!.split("\t").slice(0, 4)).toEqual([id, "DONE", "aggregateId", "1"]);
});

test("--detach prints the id and does not wait", async () => {
  await park("person-8");
  const begun = await run("forget", ...of("person-8"), "--yes", "--detach");
  expect(begun).toMatchObject({ code: 0, out: expect.stringMatching(/^[0-9a-f-]{36}\n$/) });
  const shown = await run("forget", "show", begun.out.trim());
  expect(shown).toMatchObject({ code: 0, out: expect.stringMatching(/state +RUNNING\n/) });
});

test("without a terminal it says how many, however few, and that --yes is needed", async () => {
  await park("person-9", 2);
  expect(await run("forget", ...of("person-9"))).toMatchObject({
    code: 2,
    said: expect.stringContaining("this would forget 2 events: add --yes to do it"),
  });
  expect(await run("forget", "--tag", "person=person-9", ...because)).toMatchObject({
    code: 2,
    said: expect.stringContaining(
      "this would forget 2 events, and those of the archive, which are not counted yet: add --yes",
    ),
  });
  expect((await run("search", "--aggregateId", "person-9", "--count")).out).toContain("2");
});

test("events that stay are exit code 4, of the preview too, and `confirm` ends that they are unconfirmed", async () => {
  await park("person-10");
  await send("person-10");
  expect(await run("forget", ...of("person-10"), "--preview")).toMatchObject({
    code: 4,
    out: expect.stringMatching(/events +0\nwould stay +1 \(unconfirmed 1\)/),
  });
  expect(await forget(...of("person-10"))).toMatchObject({
    ...{ code: 4, out: expect.stringMatching(/stayed +1 \(unconfirmed 1\)/) },
    said: expect.stringContaining("`parkade confirm` says that the target has processed them"),
  });
  const confirm = ["confirm", "--tag.person=person-10", "--status", "REDRIVEN", "--reason", "ticket 311"];
  expect(await run(...confirm)).toMatchObject({ code: 0, out: expect.stringMatching(/changed +1\nrefused +0\n/) });
  expect(await run("confirm", "person-10-0", "--reason", "ticket 311")).toMatchObject({
    ...{ code: 4, out: expect.stringMatching(/changed +0\nrefused +1 \(already-confirmed 1\)/) },
  });
  const { id, code, out } = await forget(...of("person-10"), "--json");
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    ...{ id, state: "DONE", counts: { events: 1 }, receipt: expect.stringMatching(/^[0-9a-f]{64}$/) },
  });
});

test("more than ten events are confirmed only after their number was typed, or with --yes", async () => {
  await park("person-11", 11);
  const what = ["confirm", "--aggregateId", "person-11", "--reason", "ticket 311"];
  expect(await run(...what)).toMatchObject({
    code: 2,
    said: expect.stringContaining("this would confirm 11 events: add --yes to do it"),
  });
  expect(await run(...what, "--yes")).toMatchObject({ code: 0, out: expect.stringMatching(/changed +11\n/) });
});
