import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { type Givable, namedSources, type RightsDraft, RightsFields, sourcesFault } from "./rights-fields";

function shown(draft: RightsDraft, givable: Givable): string {
  const texts = { actionsHint: "hint", everySource: "all that it sees" };
  return renderToStaticMarkup(
    <RightsFields draft={draft} set={() => undefined} givable={givable} pressed {...texts} />,
  );
}

it("offers the actions and sources that can be given, and no others", () => {
  const html = shown(
    { actions: ["export"], sources: "orders" },
    { actions: ["view", "export"], sources: ["orders", "stock"] },
  );
  const ticks = [...html.matchAll(/type="checkbox"[^>]*?( checked="")?\/>\s*<span><span[^>]*>([^<]*)/g)];
  expect(ticks.map(([, checked, label]) => [label, checked !== undefined])).toEqual([
    ["orders", true],
    ["stock", false],
    ["view", false],
    ["export", true],
  ]);
});

it("folds the single actions until one is given", () => {
  const givable: Givable = { actions: ["view", "export"], sources: "all" };
  expect(shown({ actions: ["export"], sources: null }, givable)).toContain("<details open");
  expect(shown({ actions: [], sources: null }, givable)).toContain("<details>");
});

it("asks for names where every source could be given, and says that none is missing", () => {
  const html = shown({ actions: [], sources: " " }, { actions: [], sources: "all" });
  expect(html).toContain("Names of the sources");
  expect(html).toContain("Enter a source, or choose all sources");
  expect(html).not.toContain("checkbox");
});

it.each([
  [null, null, null],
  ["", [], "Enter a source, or choose all sources"],
  [" orders,stock  paid ", ["orders", "stock", "paid"], null],
])("sources %j are %j", (sources, names, fault) => {
  const draft = { actions: [], sources };
  expect(namedSources(draft)).toEqual(names);
  expect(sourcesFault(draft)).toBe(fault);
});
