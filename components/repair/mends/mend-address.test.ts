import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Selection } from "@/lib/selection/selection.shapes";
import { mendHref, readMendAddress, withStarted } from "./mend-address";

const stored = new Map<string, string>();
beforeEach(() => {
  stored.clear();
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => void stored.set(key, value),
  });
});

const read = (href: string) => readMendAddress(new URL(href, "http://parkade").searchParams);
const ids = (count: number) =>
  Array.from({ length: count }, (_, at) => `019aa9a0-5d5e-7b41-9d3c-${String(at).padStart(12, "0")}`);

describe("the address of a mend", () => {
  it.each<Selection>([
    { filter: { source: ["orders", "stock"], errorCode: ["TIMEOUT"], tags: { region: ["north"] } } },
    { ids: ids(1) },
    { ids: ids(20) },
    { ids: ids(2_000) },
    { operation: ids(1)[0]! },
    { redrive: ids(1)[0]!, outcome: ["failed", "bounced"] },
    { redrive: ids(1)[0]!, outcome: ["refused"], result: "schema-mismatch: a:b" },
  ])("brings the selection back: %j", (selection) => {
    const href = mendHref(selection, () => "k-1");
    expect(href.length).toBeLessThan(1_000);
    expect(read(href)).toEqual({ selection, mend: null, verify: null, send: null });
  });

  it("knows no selection in another tab, and none without one", () => {
    const href = mendHref({ ids: ids(100) }, () => "k-1");
    stored.clear();
    expect(read(href).selection).toBeNull();
    expect(read("/mend").selection).toBeNull();
    expect(read("/mend?of=nonsense").selection).toBeNull();
    expect(read("/mend?unknownName=1").selection).toBeNull();
  });

  it("keeps the selection when something is started for it", () => {
    const first = withStarted(new URL("http://parkade/mend?source=orders").searchParams, "mend", "op-1");
    const second = withStarted(new URL(first, "http://parkade").searchParams, "verify", "r-1");
    expect(read(second)).toEqual({
      selection: { filter: { source: ["orders"] } },
      mend: "op-1",
      verify: "r-1",
      send: null,
    });
    const undone = withStarted(new URL(second, "http://parkade").searchParams, "verify", null);
    expect(undone).toBe(first);
  });
});
