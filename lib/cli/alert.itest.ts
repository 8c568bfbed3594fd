import { beforeAll, expect, test } from "vitest";
import { localViewer } from "@/lib/guard/viewer/viewer.pure";
import { parkEvents } from "@/lib/intake/park-events";
import { evaluateAlerts } from "@/lib/observe/alerts/evaluate-alerts";
import { commandLineOfFile, consoleOfFile } from "@/lib/testing/console-of-file";
import { addSource, deadLetter } from "@/lib/testing/letters";

const parkade = consoleOfFile();
const commandLine = commandLineOfFile();

beforeAll(async () => {
  await addSource(parkade.deps.db, "orders");
  const letters = Array.from({ length: 6 }, (_, index) => ({
    source: "orders",
    letter: deadLetter({ eventId: `e-${index}`, errorCode: "CONFIG_ERROR" }),
  }));
  await parkEvents(parkade.deps, letters, localViewer("tester"));
});

const run = (...words: string[]) => commandLine.run(...words);

test("an alert is listed and acknowledged, and taken back", async () => {
  await evaluateAlerts({ ...parkade.deps, publicUrl: "https://parkade.example.com" });
  const listed = await run("alert", "list");
  expect(listed).toMatchObject({ code: 0, out: expect.stringContaining("New group in orders: CONFIG_ERROR") });
  const id = listed.out.split("\t")[0]!;
  expect(await run("alert", "acknowledge", id, "--note", "on it")).toMatchObject({ code: 0, out: "1 alert changed\n" });
  expect((await run("alert", "acknowledge", id)).out).toBe("0 alerts changed, 1 unchanged\n");
  expect((await run("alert", "acknowledge", id, "--undo")).out).toBe("1 alert changed\n");
  expect((await run("alert", "list", "--state", "resolved")).said).toBe("Nothing matches.\n");
  expect((await run("alert", "rules")).out).toContain("New group\twarning\ton\t1\t");
});

test("a channel is tested: what nobody sends is not taken", async () => {
  expect((await run("channel", "list")).said).toContain("No channels: alerts are shown in the console only.");
  expect(await run("channel", "test", "nobody")).toMatchObject({
    code: 1,
    said: expect.stringContaining("unknown-channel"),
  });
  await parkade.deps.db.run(
    `insert into alert_channels (id, name, kind, enabled, severities, config, created_by, created_at, updated_by, updated_at)
     values (gen_random_uuid(), 'ops', 'webhook', true, array['critical'], '{"kind": "webhook", "url": "https://ops.example.com"}',
             'ada', now(), 'ada', now())`,
  );
  expect((await run("channel", "list")).out).toMatch(/^ops\twebhook\ton\t0\t/);
  const testing = run("channel", "test", "ops");
  await expect.poll(() => parkade.deps.db.query("select 1 from alert_outbox")).toHaveLength(1);
  await parkade.deps.db.run(
    "update alert_outbox set status = 'FAILED', last_error = 'ChannelRefusal: ops.example.com answered 404'",
  );
  expect(await testing).toMatchObject({ code: 1, out: "not taken: ops.example.com answered 404\n" });
});

test("a maintenance window is begun, listed and ended", async () => {
  const begun = await run("maintenance", "begin", "--minutes", "60", "--source", "orders", "--reason", "stock moves");
  expect(begun.code).toBe(0);
  const id = begun.out.trim();
  expect((await run("maintenance", "list")).out).toContain(`${id}\torders\t`);
  expect((await run("maintenance", "end", id)).out).toBe("ended: firing alerts are sent\n");
  expect(await run("maintenance", "end", id)).toMatchObject({
    code: 1,
    said: expect.stringContaining("unknown-maintenance"),
  });
  const long = await run("maintenance", "begin", "--minutes", "20000", "--reason", "for ever");
  expect(long).toMatchObject({ code: 1, said: expect.stringContaining("start another window") });
});
