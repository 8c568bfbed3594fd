import { describe, expect, test } from "vitest";
import { parseRedisUrl, shownRedisAddress } from "./redis-address.pure";

const address = (change: object = {}) => ({
  ...{ cluster: false, tls: false, username: "", password: "", nodes: [{ host: "cache", port: 6379 }] },
  ...change,
});

describe("REDIS_URL", () => {
  test.each([
    ["redis://cache", address()],
    ["redis://cache:6380/2", address({ nodes: [{ host: "cache", port: 6380 }] })],
    ["rediss://cache", address({ tls: true })],
    ["redis://ann:a%40b@cache", address({ username: "ann", password: "a@b" })],
    ["redis://:100%@cache", address({ password: "100%" })],
    ["redis+cluster://cache", address({ cluster: true })],
    ["rediss+cluster://cache/", address({ cluster: true, tls: true })],
    [
      "redis+cluster://:p%2Cq@a:7001,b,[::1]:7003",
      address({
        ...{ cluster: true, password: "p,q" },
        nodes: [
          { host: "a", port: 7001 },
          { host: "b", port: 6379 },
          { host: "::1", port: 7003 },
        ],
      }),
    ],
  ])("%s is read", (text, expected) => {
    expect(parseRedisUrl(text)).toEqual(expected);
  });

  test.each([
    "cache:6379",
    "http://cache",
    "redis://a:1,b:2",
    "redis+cluster://",
    "redis+cluster://a:1,",
    "redis+cluster://a/1",
    "redis+cluster://a?family=6",
    "redis+cluster://a:port",
  ])("%s is none", (text) => {
    expect(parseRedisUrl(text)).toBeNull();
  });

  test("is shown without its password", () => {
    const shown = (text: string) => shownRedisAddress(parseRedisUrl(text)!);
    expect(shown("rediss+cluster://ann:hunter2@a:7001,[::1]")).toBe("rediss+cluster://ann@a:7001,[::1]:6379");
    expect(shown("redis://:hunter2@cache/3")).toBe("redis://cache:6379");
  });
});
