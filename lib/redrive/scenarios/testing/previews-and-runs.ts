import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compared, type Model, type ModelStore, openModel, openModelStore } from "@/lib/testing/model-world";
import { type TestDatabase, testDatabase } from "@/lib/testing/postgres";
import { type ModelRuns, seedOf } from "./model-runs";

const COMMANDS_MAX = 25;

type Doing = (model: Model) => Promise<unknown>;
type Command = { doing: Doing; toString(): string };

const place = fc.nat({ max: 15 });
const worker = fc.nat({ max: 1 });

const of = <Facts>(
  name: string,
  facts: fc.Arbitrary<Facts>,
  doing: (model: Model, facts: Facts) => Promise<unknown>,
): fc.Arbitrary<Command> =>
  facts.map((chosen) => ({
    doing: (model) => doing(model, chosen),
    toString: () => `${name} ${JSON.stringify(chosen)}`,
  }));

const earlier = fc.constantFrom("hold" as const, "hold" as const, "include" as const, "pass" as const);
/** Half of them are sent as well, some to a target that is away at first, some confirmed before their answer. */
const choice = fc.record({
  by: fc.constantFrom("ids", "ids", "one", "source", "pending", "bounced", "aggregate"),
  mask: fc.integer({ min: 1, max: 255 }),
  earlier,
  send: fc.option(fc.record({ away: fc.constantFrom(0, 0, 1, 2), confirms: fc.boolean() }), { freq: 2 }),
}) as fc.Arbitrary<Parameters<Model["compare"]>[0]>;

/** What happens between two comparisons. */
const commands = fc.oneof(
  of("park", fc.tuple(fc.nat({ max: 2 }), fc.boolean()), (model, [aggregate, old]) => model.park(aggregate, old)),
  of("park again", place, (model, event) => model.parkAgain(event)),
  of("bounce", fc.tuple(place, fc.boolean()), (model, [send, changed]) => model.bounce(send, changed)),
  of("edit", place, (model, event) => model.edit(event, false)),
  of("spoil", place, (model, event) => model.spoil(event)),
  of("restore", fc.tuple(place, fc.integer({ min: 1, max: 3 })), (model, [event, to]) => model.restore(event, to)),
  of("mend", fc.integer({ min: 1, max: 255 }), async (model, mask) => {
    await model.mend(mask);
    await model.workBulk(false);
  }),
  of("undo mend", place, async (model, operation) => {
    await model.undoMend(operation);
    await model.workBulk(false);
  }),
  ...Array.from({ length: 3 }, () =>
    of(
      "redrive",
      fc.record({
        mask: fc.integer({ min: 1, max: 255 }),
        mode: fc.constantFrom("deliver" as const, "deliver" as const, "verify" as const),
        earlier,
        canary: fc.boolean(),
        later: fc.constantFrom(null, null, null, "time" as const),
      }),
      (model, asked) => model.redrive(asked),
    ),
  ),
  ...Array.from({ length: 3 }, () =>
    of("work", fc.tuple(worker, place, fc.integer({ min: 0, max: 40 })), async (model, [by, job, count]) => {
      await model.begin(by, job, false);
      await model.pass(by, count);
    }),
  ),
  ...Array.from({ length: 3 }, () =>
    of("answer", fc.tuple(place, fc.constantFrom("take", "refuse", "fail", "cut")), (model, [send, how]) =>
      model.answer(send, how as "take"),
    ),
  ),
  of("pass", fc.tuple(worker, fc.integer({ min: 1, max: 40 })), (model, [by, count]) => model.pass(by, count)),
  of("crash", fc.tuple(worker, fc.boolean()), (model, [by, arrives]) => model.crash(by, arrives)),
  of("workers are given up", fc.constant(null), (model) => model.givenUp()),
  of("tick", fc.tuple(worker, fc.constantFrom(600, 5_000)), (model, [by, ms]) => model.tick(by, ms)),
  of("change", fc.tuple(place, fc.constantFrom("pause", "resume", "cancel")), (model, [redrive, action]) =>
    model.change(redrive, action as "pause"),
  ),
  of("skip", place, (model, event) => model.skip(event)),
  of("undo skip", place, (model, event) => model.undoSkip(event)),
  of("ignore", place, (model, event) => model.ignore(event)),
  of("release", place, (model, event) => model.release(event)),
  of("confirm", place, (model, event) => model.confirm(event)),
  of("quiet", fc.boolean(), (model, removedBefore) => model.quiet(removedBefore)),
  of(
    "control",
    fc.tuple(
      place,
      fc.constantFrom("blacklist" as const, "whitelist" as const, "cooldown" as const),
      fc.constantFrom("event" as const, "aggregate" as const, "code" as const),
      fc.boolean(),
    ),
    (model, [event, kind, by, expires]) => model.control(event, kind, by, expires),
  ),
  of("time passes", fc.boolean(), (model, weeks) => model.timePasses(weeks)),
  of("expire", fc.boolean(), async (model, twice) => {
    await model.timePasses(true);
    await model.expire(twice);
  }),
  of("bring back", place, (model, event) => model.bringBack(event)),
  of("lift", fc.constant(null), (model) => model.lift()),
  of("stop", fc.boolean(), (model, all) => model.stop(all)),
  of("go", fc.boolean(), (model, all) => model.go(all)),
);

/** Runs of up to COMMANDS_MAX commands each, on one database for the file. */
export function testPreviewsAndRuns(runs: ModelRuns): void {
  let database: TestDatabase;
  let store: ModelStore;
  beforeAll(async () => {
    database = await testDatabase();
    store = await openModelStore(database.url, { cooldownMs: 3_600_000 });
  });
  afterAll(async () => {
    await store.close();
    await database.drop({ force: true });
  });

  test("after whatever came before, a preview says what the dry run passes and a redrive sends", {
    timeout: 0,
    retry: 0,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(commands, choice), { minLength: 1, maxLength: COMMANDS_MAX, size: "max" }),
        async (steps) => {
          const model = await openModel(store);
          try {
            for (const aggregate of [1, 1, 2, 0, 1]) await model.park(aggregate);
            for (const [step, chosen] of steps) {
              await step.doing(model);
              await model.compare(chosen);
            }
            // What stays open would be enqueued in the queue of the next run.
            expect(await model.end()).toEqual([]);
          } finally {
            await model.close();
          }
        },
      ),
      {
        numRuns: runs.count,
        endOnFailure: true,
        ...seedOf(runs),
      },
    );
    // Otherwise the runs have shown nothing; a replay of one run shows its failure alone.
    if (process.env.PARKADE_MODEL_PATH === undefined)
      expect(Math.min(compared.previews, compared.redrives)).toBeGreaterThan(runs.count);
  });
}
