import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { contrast } from "@/lib/testing/contrast";

/** Every text colour against every surface it may stand on, in both themes, as the tokens are written. */
const css = readFileSync("app/globals.css", "utf8");
const tokens = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(([, name, light, dark]) => [
    name!,
    { light: light!, dark: dark! },
  ]),
);

const SURFACES = ["canvas", "surface", "raised", "hover", "selected"];
const TEXTS = ["ink", "muted", "faint", "accent", ...[...tokens.keys()].filter((name) => name.startsWith("state-"))];

describe.each(["light", "dark"] as const)("the %s theme", (theme) => {
  const colour = (name: string) => {
    const token = tokens.get(name);
    if (!token) throw new Error(`there is no token --${name} of the form light-dark(#rrggbb, #rrggbb)`);
    return token[theme];
  };

  it.each(TEXTS)("shows %s at 4.5 : 1 on every surface", (text) => {
    const low = SURFACES.map((surface) => ({ surface, ratio: contrast(colour(text), colour(surface)) })).filter(
      ({ ratio }) => ratio < 4.5,
    );
    expect(low).toEqual([]);
  });

  it("shows the words of a primary button at 4.5 : 1, also while pointed at", () => {
    expect(contrast(colour("on-accent"), colour("accent"))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(colour("on-accent"), colour("accent-hover"))).toBeGreaterThanOrEqual(4.5);
  });

  it("draws the edge of a control at 3 : 1", () => {
    for (const surface of ["canvas", "surface", "raised"]) {
      expect(contrast(colour("control"), colour(surface))).toBeGreaterThanOrEqual(3);
    }
  });
});
