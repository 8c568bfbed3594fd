import { readdirSync } from "node:fs";
import { describe, expect, it, test } from "vitest";
import { PAGES, pageAt, pageHref } from "@/components/shell/navigation";

const at = (query: string) => new URLSearchParams(query);

describe("the way to a page", () => {
  it("keeps the time window and nothing else", () => {
    expect(pageHref("/events", at("from=-1h&errorCode=TIMEOUT"))).toBe("/events?from=-1h");
    expect(pageHref("/", at("from=-2h&to=-1h&open=x"))).toBe("/?from=-2h&to=-1h");
  });

  it("has no window where a page has none", () => {
    expect(pageHref("/sources", at("from=-1h"))).toBe("/sources");
    expect(pageHref("/groups", at("q=503"))).toBe("/groups");
  });
});

test.each([
  ["/", "Overview", "/"],
  ["/groups/4c8d", "Groups", "/groups"],
  ["/alerts/7", "Alerts", "/alerts"],
  ["/alerts/rules", "Alerts", "/alerts/rules"],
  ["/operations/7", "Redrives", "/operations"],
  ["/archive/forget", "Archive", "/archive/forget"],
  ["/account", "Access", "/account"],
])("%s belongs to %s", (pathname, label, tab) => {
  const found = pageAt(pathname);
  expect([found?.page.label, found?.tab]).toEqual([label, tab]);
});

/** Reached from what they act on or explain. */
const NO_ENTRY = ["/mend", "/glossary", "/sign-in", "/sign-in/second-factor", "/sign-in/link", "/sign-in/device"];

test("every page that needs no id is within two clicks: an entry of the rail, or a tab of one", () => {
  const files = readdirSync("app", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith("page.tsx"));
  const paths = files
    .filter((file) => !file.includes("["))
    .map((file) => `/${file.replaceAll(/\([a-z]+\)\/|\/?page\.tsx$/g, "")}`);
  const reached = PAGES.flatMap((page) => page.tabs ?? [page]).map(({ href }) => href);
  expect([...reached, ...NO_ENTRY].toSorted()).toEqual(paths.toSorted());
});
