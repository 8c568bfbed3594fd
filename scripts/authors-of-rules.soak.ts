import { expect, test } from "vitest";
import { oldStore } from "../lib/testing/old-store.ts";

const MIGRATION = "20261128000401_authors_of_rules";

const [ON, OFF, RUN, LOST] = [1, 2, 3, 4].map((n) => `00000000-0000-7000-8000-00000000000${n}`);

/** Ada wrote a rule, which eve switched on, and bob one that is off; one that made a run is deleted. */
const STATE = `
  insert into redrive_rules (id, position, name, enabled, version, body, enabled_by, created_by, updated_by)
  values ('${ON}', 1, 'on', true, 2, '{}', 'eve', 'ada', 'eve'), ('${OFF}', 2, 'off', false, 1, '{}', null, 'bob', 'bob');
  insert into redrive_rule_runs (redrive_id, rule_id, version, events)
  values ('${RUN}', '${ON}', 2, 7), ('${LOST}', gen_random_uuid(), 1, 3);
  insert into approvals (id, state, subject_kind, subject_id, causes, terms, digest, asked_by, expires_at)
  values (gen_random_uuid(), 'asked', 'redrive', '${RUN}', '[]', '{}', 'd', 'ada', now())`;

test("a store of before keeps who wrote and switched on its rules, and who asked for what waits", async () => {
  const { query, upgrade } = await oldStore(MIGRATION);
  await query(STATE);
  expect(await upgrade()).toContain(MIGRATION);
  expect(await query("select name, authors from redrive_rules order by position")).toEqual([
    { name: "on", authors: ["ada", "eve"] },
    { name: "off", authors: ["bob"] },
  ]);
  expect(await query("select redrive_id, authors from redrive_rule_runs order by redrive_id")).toEqual([
    { redrive_id: RUN, authors: ["ada", "eve"] },
    { redrive_id: LOST, authors: [] },
  ]);
  expect(await query("select asked_by, also_asked from approvals")).toEqual([{ asked_by: "ada", also_asked: [] }]);
});
