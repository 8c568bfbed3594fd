import { describe, expect, it } from "vitest";
import type { EventList, ListedEvent } from "@/lib/events/events.shapes";
import {
  type FreshPage,
  heldByShortPages,
  newcomers as newcomersIn,
  pageOfRow,
  shownRows as shownRowsIn,
} from "./list-rows";

const event = (id: string, status: ListedEvent["status"] = "PENDING") => ({ id, status }) as ListedEvent;
const list = (ids: string[], nextCursor: string | null = "more"): EventList => ({
  items: ids.map((id) => event(id)),
  nextCursor,
  prevCursor: null,
  examinedTo: null,
});
const shownRows = (pages: EventList[], fresh: FreshPage[], topId: string | null) =>
  shownRowsIn(pages, fresh, { sorted: false, topId });
const newcomers = (fresh: EventList | undefined, topId: string | null, pages: EventList[] = []) =>
  newcomersIn(fresh, { sorted: false, topId }, pages);
const text = (rows: ReturnType<typeof shownRows>) => rows.map((row) => `${row.event.id}${row.gone ? " gone" : ""}`);

it("heldByShortPages counts the rows of the last pages that ended before they were full", () => {
  const short = (ids: string[]) => ({ ...list(ids), examinedTo: "2026-12-01T00:00:00.000Z" });
  const cases = [
    [short(["9"]), short([]), short(["8"])],
    [short(["9"]), list(["8"])],
    [list(["9"]), short(["8", "7"])],
    [],
  ];
  expect(cases.map(heldByShortPages)).toEqual([2, 0, 2, 0]);
});

describe("shownRows", () => {
  const pages = [list(["9", "8", "7"]), list(["6", "5", "4"])];

  it("holds newcomers back until they are asked for", () => {
    const reread = [list(["b", "a", "9"]), list(["8", "7", "6"])];
    expect(text(shownRows(reread, [], "9"))).toEqual(["9", "8", "7", "6"]);
    expect(text(shownRows(reread, [], "b"))).toEqual(["b", "a", "9", "8", "7", "6"]);
  });

  it("shows a changed row in its place", () => {
    const fresh = { ...list(["9", "8", "7"]), items: [event("9"), event("8", "QUEUED"), event("7")] };
    const rows = shownRows(pages, [{ list: fresh, before: null }], "9");
    expect(text(rows)).toEqual(["9", "8", "7", "6", "5", "4"]);
    expect(rows[1]?.event.status).toBe("QUEUED");
  });

  it("marks rows that no longer match and leaves them where they are", () => {
    expect(text(shownRows(pages, [{ list: list(["9", "7", "6"]), before: null }], "9"))).toEqual([
      "9",
      "8 gone",
      "7",
      "6",
      "5",
      "4",
    ]);
  });

  it("says nothing about rows that a fresh page does not reach", () => {
    // Two newcomers pushed 8 and 7 out of the newest page: they are not gone.
    expect(text(shownRows(pages, [{ list: list(["b", "a", "9"]), before: null }], "9"))).toEqual([
      "9",
      "8",
      "7",
      "6",
      "5",
      "4",
    ]);
    // A page further down does not speak for the rows above it.
    expect(text(shownRows(pages, [{ list: list(["6", "4", "3"]), before: "7" }], "9"))).toEqual([
      "9",
      "8",
      "7",
      "6",
      "5 gone",
      "4",
    ]);
  });

  it("knows that all are gone when nothing matches any more", () => {
    expect(text(shownRows([list(["9", "8"], null)], [{ list: list([], null), before: null }], "9"))).toEqual([
      "9 gone",
      "8 gone",
    ]);
  });

  it("shows no row twice when pages overlap", () => {
    expect(text(shownRows([list(["9", "8"]), list(["8", "7"])], [], "9"))).toEqual(["9", "8", "7"]);
  });
});

describe("newcomers", () => {
  it("counts what is newer than the list, and says when there may be more", () => {
    expect(newcomers(list(["b", "a", "9"]), "9")).toEqual({ count: 2, more: false });
    expect(newcomers(list(["c", "b", "a"]), "9")).toEqual({ count: 3, more: true });
    expect(newcomers(list(["9"]), "9")).toEqual({ count: 0, more: false });
    expect(newcomers(undefined, "9")).toEqual({ count: 0, more: false });
  });

  it("counts what left the list and is back, and not what was never loaded", () => {
    const pages = [list(["9", "6"])];
    expect(newcomers(list(["9", "8", "7", "6", "5"]), "9", pages)).toEqual({ count: 2, more: false });
    expect(newcomers(list(["9", "6", "5", "4"]), "9", pages)).toEqual({ count: 0, more: false });
    expect(newcomers(list(["8"], null), "9", [list([], null)])).toEqual({ count: 1, more: false });
    expect(newcomers(list(["5"], null), "9", [list(["9", "6"], null)])).toEqual({ count: 1, more: false });
  });

  it("counts all of them when the list was empty", () => {
    expect(newcomers(list(["9", "8"], null), null)).toEqual({ count: 2, more: false });
  });
});

it("finds the page of a row", () => {
  const pages = [list(["9", "8", "7"]), list(["6", "5"])];
  expect([0, 2, 3, 4, 99].map((row) => pageOfRow(pages, row))).toEqual([0, 0, 1, 1, 1]);
});

describe("a list in another order than that of ids", () => {
  const SORTED = { sorted: true, topId: null };
  const pages = [list(["3", "9", "1"]), list(["7", "2"])];

  it("shows every row in the order in which it was read, and marks what left the part that was read again", () => {
    expect(text(shownRowsIn(pages, [], SORTED))).toEqual(["3", "9", "1", "7", "2"]);
    const above = { list: list(["3", "8", "1"]), before: null };
    expect(text(shownRowsIn(pages, [above], SORTED))).toEqual(["3", "9 gone", "1", "7", "2"]);
    const below = { list: list(["2"], null), before: "1" };
    expect(text(shownRowsIn(pages, [below], SORTED))).toEqual(["3", "9", "1", "7 gone", "2"]);
  });

  it("counts what came between the rows, and not what the next page holds", () => {
    expect(newcomersIn(list(["8", "3", "9"]), SORTED, pages)).toEqual({ count: 1, more: false });
    expect(newcomersIn(list(["3", "9", "5"]), SORTED, pages)).toEqual({ count: 0, more: false });
    expect(newcomersIn(list(["8", "6"]), SORTED, pages)).toEqual({ count: 2, more: true });
    expect(newcomersIn(list(["8", "6"], null), SORTED, [list([], null)])).toEqual({ count: 2, more: false });
  });
});
