import { expect, test } from "vitest";
import { secretsOfPayload } from "@/lib/brokers/scrub";

test("the values under secret names of a payload are found, however deep they stand", () => {
  const depth = 200_000;
  const payload = `{"amount": 12, "password": ${"[".repeat(depth)}"hunter2", 4711${"]".repeat(depth)}}`;
  expect(secretsOfPayload(Buffer.from(payload)).sort()).toEqual(["4711", "hunter2"]);
});

test.each([["no JSON"], ["{}"], ['{"password": null}'], [""]])("there are none in %j", (payload) =>
  expect(secretsOfPayload(Buffer.from(payload))).toEqual([]),
);

test("there are none in bytes that are no text", () => expect(secretsOfPayload(Buffer.from([0xff, 0xfe]))).toEqual([]));
