import { expect, test } from "vitest";
import { aboutPath } from "@/lib/observe/alerts/alert-paths.pure";

type Subject = { fingerprint?: string; errorCode?: string; target?: string };

test.each<[string | null, Subject, string]>([
  ["orders", { fingerprint: "f00d", errorCode: "TIMEOUT" }, "/groups/f00d?source=orders"],
  [null, { fingerprint: "f00d" }, "/groups/f00d"],
  ["a b", { errorCode: "NO PRICE" }, "/groups?errorCode=NO%20PRICE&source=a%20b"],
  [null, { errorCode: "TIMEOUT" }, "/groups?errorCode=TIMEOUT"],
  ["orders", { target: "shop" }, "/alerts/7"],
  [null, {}, "/alerts/7"],
])("an alert of %j about %j opens %s", (source, subject, path) => {
  expect(aboutPath({ id: "7", source, subject })).toBe(path);
});
