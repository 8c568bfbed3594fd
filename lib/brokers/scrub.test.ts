import { expect, test } from "vitest";
import { createScrubber, excerpt, secretsOfPayload } from "@/lib/brokers/scrub";

test("the values under secret names of a payload are found, however deep they stand", () => {
  const depth = 200_000;
  const payload = `{"amount": 12, "password": ${"[".repeat(depth)}"hunter2", 4711${"]".repeat(depth)}}`;
  expect(secretsOfPayload(Buffer.from(payload)).sort()).toEqual(["4711", "hunter2"]);
});

test.each([["no JSON"], ["{}"], ['{"password": null}'], [""]])("there are none in %j", (payload) =>
  expect(secretsOfPayload(Buffer.from(payload))).toEqual([]),
);

test("there are none in bytes that are no text", () => expect(secretsOfPayload(Buffer.from([0xff, 0xfe]))).toEqual([]));

test.each([
  ["behind a byte order mark", '\uFEFF{"password": "hunter2"}', "hunter2"],
  ["beside a byte that is no text", Buffer.from('{"note": "\xff", "password": "hunter2"}', "latin1"), "hunter2"],
  ["of more digits than a number holds", '{"pin": 1, "password": 12345678901234567890}', "12345678901234567890"],
  ["with a fraction, in a list", '{"password": ["1 2345", -1234.50e+1]}', "-1234.50e+1"],
])("a secret %s is masked where it is repeated", (_, payload, repeated) =>
  expect(excerpt(`no ${repeated} here`, secretsOfPayload(Buffer.from(payload)), 100)).toBe("no *** here"),
);

const secret = 'line one\n"line" \u2028two';

test.each([
  ["as text", `no ${secret} here`],
  ["as JSON", `no ${JSON.stringify(secret).slice(1, -1)} here`],
  ["percent-encoded", `no ${encodeURIComponent(secret)} here`],
])("an excerpt masks a secret that is repeated %s", (_, said) =>
  expect(excerpt(said, secretsOfPayload(Buffer.from(JSON.stringify({ password: secret }))), 100)).toBe("no *** here"),
);

test("an excerpt holds no half of a secret", () => {
  const said = `${"x".repeat(95)}hunter2-hunter2`;
  expect(excerpt(said, ["hunter2-hunter2"], 100)).toBe(`${"x".repeat(95)}***`);
});

test("of a message with more secrets than are looked for there is no excerpt", () => {
  const secrets = Array.from({ length: 1_001 }, (_, n) => `secret-${n}`);
  expect([excerpt("no secret-7", secrets, 100), excerpt("no secret-7", secrets.slice(1), 100)]).toEqual(["", "no ***"]);
});

test("half a surrogate pair may stand in a secret", () => {
  const scrubber = createScrubber();
  scrubber.learn(secretsOfPayload(Buffer.from('{"password": "\\ud800-hunter2"}')));
  expect(scrubber.text("no \ud800-hunter2, and no %EF%BF%BD-hunter2")).toBe("no ***, and no ***");
});
