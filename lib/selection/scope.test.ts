import { expect, test } from "vitest";
import { type MaskRule, masksOf } from "@/lib/guard/masking/mask-rule.pure";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import { scopeFilter, scopeSelection } from "./scope.shapes";

const rule = (kind: MaskRule["kind"], pattern: string, source: string | null, enabled = true): MaskRule => ({
  source,
  kind,
  pattern,
  enabled,
});
const MASKS = masksOf([rule("key", "customer*", "orders"), rule("detector", "email", "mails", false)]);
const viewer = (...sources: string[]): Viewer => ({
  ...localViewer("eve"),
  sources: sources.length === 0 ? "all" : sources,
  actions: ["view"],
});
const NAME = { customerName: ["Ada"] };
const MAIL = { to: ["ada@example.com"] };

/** A search by a tag says whether what is masked has this value. */
test.each([
  ["a rule of a source that is searched", viewer(), NAME, undefined, false],
  ["the rule's source by name", viewer(), NAME, ["orders"], false],
  ["another source by name", viewer(), NAME, ["mails"], true],
  ["one of two sources", viewer(), NAME, ["mails", "orders"], false],
  ["a viewer of the rule's source", viewer("orders", "mails"), NAME, undefined, false],
  ["a viewer of other sources", viewer("mails"), NAME, undefined, true],
  ["a detector that is on", viewer("orders"), MAIL, undefined, false],
  ["a detector that the source has switched off", viewer("mails"), MAIL, undefined, true],
  ["a tag that nothing masks", viewer(), { orderId: ["77"] }, undefined, true],
  ["somebody who may reveal", localViewer("ada"), NAME, undefined, true],
] as const)("a search by a tag, %s", (_, who, tags, source, allowed) => {
  const filter = { tags, ...(source && { source }) } as unknown as Parameters<typeof scopeFilter>[1];
  const asked = [() => scopeFilter(who, filter, MASKS), () => scopeSelection(who, "view", { filter }, MASKS)];
  for (const ask of asked) {
    if (allowed) expect(ask).not.toThrow();
    else expect(ask).toThrow("may not search by a tag whose values are masked");
  }
});

test("without the rules no tag is searched by who may not reveal", () => {
  expect(() => scopeFilter(viewer(), { tags: { orderId: ["77"] } })).toThrow("may not search by a tag");
  expect(scopeFilter(viewer(), { eventId: ["77"] })).toEqual({ eventId: ["77"] });
});
