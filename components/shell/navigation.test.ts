import { describe, expect, it } from "vitest";
import { pageHref } from "@/components/shell/navigation";

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
