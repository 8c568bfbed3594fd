import { describe, expect, test } from "vitest";
import { matchesName, parseHostNames } from "./host-names.pure";

describe("names of hosts", () => {
  test.each([
    ["orders.example.com", "orders.example.com", true],
    ["Orders.Example.COM.", "orders.example.com", true],
    ["evil-orders.example.com", "orders.example.com", false],
    ["orders.example.com.evil.test", "orders.example.com", false],
    ["a.example.com", "*.example.com", true],
    ["a.b.example.com", "*.example.com", true],
    ["example.com", "*.example.com", false],
    ["evilexample.com", "*.example.com", false],
    ["10.0.0.1", "10.0.0.1", true],
    ["[fd00::1]", "fd00::1", true],
  ])("%s is named by %s: %s", (host, pattern, named) => {
    expect(matchesName(host, parseHostNames(pattern)!)).toBe(named);
  });

  test.each([
    "https://a.example",
    "a.example:443",
    "*",
    "*.*.example",
    "a..example",
    "-a.example",
    "a/b",
    "user@a",
    "*.0.0.1",
  ])("%j is no name", (text) => expect(parseHostNames(text)).toBeNull());

  test("come separated by blanks and commas", () => {
    expect(parseHostNames("a.example, *.b.example  fd00::1")).toEqual(["a.example", "*.b.example", "fd00::1"]);
    expect(parseHostNames("")).toEqual([]);
  });
});
