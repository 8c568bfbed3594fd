import { expect, test } from "vitest";
import { returnPath } from "./return-path.pure";

test.each([
  ["/events?status=PENDING#x", "/events?status=PENDING#x"],
  [null, "/"],
  ["", "/"],
  ["events", "/"],
  ["//evil.example", "/"],
  ["/\\evil.example", "/"],
  ["/.//evil.example", "/"],
  ["/events/..//evil.example", "/"],
  ["/%2e/\\evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["https://evil.example/", "/"],
  ["javascript:alert(1)", "/"],
  ["/sign-in?to=/sign-in", "/"],
  ["/sign-in/link", "/"],
  ["/sign-in/device?code=7KQ2M-XW4HT", "/sign-in/device?code=7KQ2M-XW4HT"],
])("after a sign-in %j leads to %s", (to, path) => {
  expect(returnPath(to)).toBe(path);
});
