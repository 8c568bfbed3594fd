import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import type { RedriveOut } from "@/lib/redrive/redrives.shapes";
import { StateOfRedrive } from "./state-of-redrive";

test.each([
  [{ state: "RUNNING", waitsFor: [] }, "RUNNING"],
  [{ state: "PLANNED", waitsFor: ["approval"] }, "WAITING"],
  [{ state: "CANCELLED", waitsFor: ["approval"] }, "CANCELLED"],
] satisfies [Partial<RedriveOut>, string][])(
  "a redrive that something holds is WAITING until it has ended: %j",
  (change, word) => {
    expect(renderToStaticMarkup(<StateOfRedrive redrive={{ mode: "deliver", ...change } as RedriveOut} />)).toContain(
      word,
    );
  },
);
