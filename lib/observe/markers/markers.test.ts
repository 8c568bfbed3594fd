import { expect, test } from "vitest";
import { markerRequestSchema } from "./markers.shapes";

test.each([
  ["https://ci.example.com/builds/4170", null],
  ["https://user:password@ci.example.com/", "must not contain a user or password: every viewer can read it"],
  ["https://user@ci.example.com/", "must not contain a user or password: every viewer can read it"],
  ["https://ci.example.com/\u202etxt.exe", "must not contain invisible characters"],
  ["'; drop table sources; --", "must be an address that begins with https:// or http://"],
  ["javascript:alert(1)", "must be an address that begins with https:// or http://"],
])("the address of a marker: %j", (url, fault) => {
  const { success, error } = markerRequestSchema.safeParse({ label: "orders 4.17.0", url });
  expect([success, error?.issues[0]?.message ?? null]).toEqual([fault === null, fault]);
});
