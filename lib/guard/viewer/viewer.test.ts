import { expect, it } from "vitest";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import {
  ACTIONS,
  type Action,
  assertMay,
  localViewer,
  sourceScope,
  systemViewer,
  untilSecondFactor,
  type Viewer,
  whyNot,
} from "./viewer.pure";

const CLERK: Viewer = { name: "ada", means: "session", sources: ["orders"], actions: ["view", "redrive"] };

function refusalOf(work: () => unknown): DomainError | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
}

it.each(ACTIONS)("the local viewer and Parkade itself may %s, everywhere", (action) => {
  for (const viewer of [localViewer(), systemViewer("worker")]) assertMay(viewer, action, "all");
});

it("whoever must add a second factor may do and read nothing, and is told so", () => {
  const [person, token] = [CLERK, { ...CLERK, means: "token" as const }].map(untilSecondFactor) as [Viewer, Viewer];
  for (const action of ACTIONS)
    expect(refusalOf(() => assertMay(person, action, ["orders"]))?.code).toBe("second-factor-needed");
  expect(refusalOf(() => sourceScope(person))?.message).toMatch(/open the console and add one$/);
  expect(refusalOf(() => sourceScope(token))?.message).toMatch(/^The owner of the token needs/);
  expect([person.actions, person.sources]).toEqual([[], []]);
});

it.each(ACTIONS.filter((action) => !["view", "redrive"].includes(action)))(
  "a viewer without the action may not %s, and the problem names the action",
  (action: Action) => {
    const error = refusalOf(() => assertMay(CLERK, action, ["orders"]));
    expect(error?.code).toBe("forbidden");
    expect(error?.fields).toEqual([{ field: "action", detail: action }]);
  },
);

it("a viewer of one source may act there alone, and the problem names the source", () => {
  assertMay(CLERK, "redrive", ["orders"]);
  expect(refusalOf(() => assertMay(CLERK, "redrive", ["orders", "payments"]))?.fields).toEqual([
    { field: "action", detail: "redrive" },
    { field: "source", detail: "payments" },
  ]);
  expect(refusalOf(() => assertMay(CLERK, "redrive", "all"))?.code).toBe("forbidden");
});

it("a control is offered to whom the handler lets through, and to nobody else", () => {
  const viewers = [CLERK, { ...CLERK, sources: "all" as const }, { ...CLERK, actions: "all" as const }, localViewer()];
  for (const viewer of viewers) {
    for (const action of ACTIONS) {
      for (const everySource of [false, true]) {
        const refused = refusalOf(() => assertMay(viewer, action, everySource ? "all" : ["orders"])) !== null;
        expect(whyNot(viewer, action, everySource) !== null, `${action}, every source: ${everySource}`).toBe(refused);
      }
    }
  }
});

it("a control that needs two actions names the one that is missing", () => {
  expect(whyNot(CLERK, ["redrive", "change-redrive-rule"])).toBe(
    "You may not change redrive rule: ask an administrator for the right",
  );
  expect(
    whyNot({ ...CLERK, actions: ["redrive", "change-redrive-rule"] }, ["redrive", "change-redrive-rule"]),
  ).toBeNull();
});

it("a read is restricted to the sources that the viewer may see and the reader asked for", () => {
  expect(sourceScope(localViewer())).toBeNull();
  expect(sourceScope(localViewer(), ["payments"])).toEqual(["payments"]);
  expect(sourceScope(CLERK)).toEqual(["orders"]);
  expect(sourceScope(CLERK, ["orders", "payments"])).toEqual(["orders"]);
  expect(sourceScope(CLERK, ["payments"])).toEqual([]);
});

it("a viewer who may only send events reads nothing", () => {
  expect(refusalOf(() => sourceScope({ ...CLERK, actions: ["ingest"] }))?.code).toBe("forbidden");
});
