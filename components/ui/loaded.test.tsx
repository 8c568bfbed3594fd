import type { ComponentProps } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, test } from "vitest";
import { ApiError, type ApiErrorCode } from "@/lib/platform/api/api-error.shapes";
import { isInBand } from "./error-panel";
import { itemsOf, ListState } from "./loaded";

type Read = ComponentProps<typeof ListState<string>>["read"];

const shown = (read: Partial<Read>) => {
  const none = {
    data: undefined,
    isPending: false,
    isSuccess: false,
    isError: false,
    error: null,
    refetch: () => {},
    dataUpdatedAt: 0,
  };
  return renderToStaticMarkup(
    <ListState read={{ ...none, ...read }} loading={{ rows: 2, columns: ["w-24"] }} none="There are none" />,
  );
};

test("the items of a list are those of all pages that were read", () => {
  expect(itemsOf({ data: undefined })).toEqual([]);
  expect(itemsOf({ data: { items: ["a"] } })).toEqual(["a"]);
  expect(itemsOf({ data: { pages: [{ items: ["a", "b"] }, { items: ["c"] }] } })).toEqual(["a", "b", "c"]);
});

it("shows a skeleton during the first read", () => {
  expect(shown({ isPending: true })).toContain('aria-label="Loading"');
});

it("says that there are none only after a read succeeded", () => {
  const data = { items: [] };
  expect(shown({ data, isSuccess: true })).toBe("There are none");
  expect(shown({ data, isError: true, error: new Error("x") })).not.toContain("There are none");
  expect(shown({ data: { pages: [{ items: ["a"] }] }, isSuccess: true })).toBe("");
});

it("shows an error above the items that an earlier read left, and in their place without any", () => {
  const failed = { isError: true, error: new Error("x") };
  expect(shown({ ...failed, data: { items: ["a"] } })).toContain("border-y");
  expect(shown(failed)).not.toContain("border-y");
});

it("says of rows that stay after a failed read when they were read", () => {
  const read = {
    data: { items: ["a"] },
    isError: true,
    error: new Error("x"),
    dataUpdatedAt: Date.UTC(2026, 10, 20, 12),
  };
  expect(shown(read)).toContain('This data was loaded <time dateTime="2026-11-20T12:00:00.000Z"');
  expect(shown({ ...read, data: { items: [] }, dataUpdatedAt: 0 })).not.toContain("This data");
});

it("shows no banner for what the band above the page says", () => {
  const offline = { isError: true, error: new ApiError("offline", "Parkade does not answer.", {}) };
  expect(shown({ ...offline, data: { items: ["a"] } })).toBe("");
  expect(shown(offline)).toContain("Parkade does not answer.");
});

test.each([
  ["offline", "fresh", true],
  ["no-answer", "old", true],
  // One read alone took too long.
  ["no-answer", "fresh", false],
  ["internal", "stale", false],
] as [ApiErrorCode, "fresh" | "old" | "stale", boolean][])("of %s while the data is %s: %s", (code, level, said) => {
  expect(isInBand(new ApiError(code, "", {}), level)).toBe(said);
});
