import { describe, expect, test } from "vitest";
import { DomainError } from "@/lib/platform/plain/problem.pure";
import { opsRedriveQuery } from "./ops-redrive.shapes";

const parse = (query: string) => opsRedriveQuery.read(new URLSearchParams(query), 0);

describe("the one call for scripts", () => {
  test("reads the filter's own names and its own", () => {
    expect(
      parse("aggregateId=order-7&from=-2h&lane=main&ratePerSecond=12.5&earlier=include&reason=stock&target=stock"),
    ).toEqual({
      select: { filter: { aggregateId: ["order-7"], from: "-2h" } },
      lane: "main",
      target: "stock",
      mode: "deliver",
      ratePerSecond: 12.5,
      reason: "stock",
      earlier: "include",
    });
    expect(parse("eventId=e-1")).toMatchObject({ lane: "slow", target: null, ratePerSecond: null, earlier: "hold" });
  });

  test.each([
    ["", "empty-selection", "eventId"],
    ["lane=main", "empty-selection", "eventId"],
    ["not.eventId=e&not.tag.a=b", "empty-selection", "eventId"],
    ["eventId=e&lane=fast", "unknown-lane", "lane"],
    ["eventId=e&mode=dry", "invalid-request", "mode"],
    ["eventId=e&ratePerSecond=0", "invalid-request", "ratePerSecond"],
    ["eventId=e&ratePerSecond=fast", "invalid-request", "ratePerSecond"],
    ["eventId=e&earlier=send", "invalid-request", "earlier"],
    ["evntId=e", "invalid-filter", "evntId"],
  ])("%j is %s, field %s", (query, code, field) => {
    const refused = expect(() => parse(query));
    refused.toThrow(DomainError);
    try {
      parse(query);
    } catch (error) {
      expect(error).toMatchObject({ code, fields: [expect.objectContaining({ field })] });
    }
  });
});
