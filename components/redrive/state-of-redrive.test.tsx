import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { type RedriveOut, redriveSchema } from "@/lib/redrive/redrives.shapes";
import { StateOfRedrive } from "./state-of-redrive";

const [example] = z.globalRegistry.get(redriveSchema)!.examples as [RedriveOut];

test.each([
  [{ state: "RUNNING", waitsFor: [] }, "RUNNING"],
  [{ state: "PLANNED", waitsFor: ["approval"] }, "WAITING"],
  [{ state: "CANCELLED", waitsFor: ["approval"] }, "CANCELLED"],
] satisfies [Partial<RedriveOut>, string][])(
  "a redrive that something holds is WAITING until it has ended: %j",
  (change, word) => {
    expect(renderToStaticMarkup(<StateOfRedrive redrive={{ ...example, ...change }} />)).toContain(word);
  },
);
