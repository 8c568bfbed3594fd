import { beforeAll, expect, test } from "vitest";
import { commandLineOfFile, consoleOfFile } from "@/lib/testing/console-of-file";
import { addSource } from "@/lib/testing/letters";

const parkade = consoleOfFile();
const commandLine = commandLineOfFile();

/** As users of other tools reported them: a gzip body, none at all, NaN as Python writes it, names that HTTP does not have. */
const GZIP = "H4sIAPTrC2sC/6tWyi9KSS3yTFGyMjevBQBxpj2CDgAAAA==";
const JSON_TYPE = { contentType: "application/json" };
const EVENTS = [
  { eventId: "gzip", ...JSON_TYPE, payloadBase64: GZIP, headers: [["content-encoding", "gzip"]] },
  { eventId: "empty", ...JSON_TYPE, payloadBase64: "" },
  { eventId: "nan", ...JSON_TYPE, payloadBase64: "eyJhIjpOYU59" },
  {
    ...{ eventId: "headers", ...JSON_TYPE, payload: {} },
    headers: [
      ["my header", "v"],
      ["x:y", "v"],
    ],
  },
];

beforeAll(async () => {
  await addSource(parkade.deps.db, "orders");
  const body = JSON.stringify(EVENTS.map((event) => ({ source: "orders", errorCode: "E", ...event })));
  const answer = await fetch(`${commandLine.url}/api/v1/events`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  expect(await answer.json()).toMatchObject({ accepted: EVENTS.length });
});

const preview = async (...words: string[]) => (await commandLine.run("redrive", ...words, "--preview")).out;

test("a preview of what came over the API says what goes, what is asked about, and what is left out", async () => {
  const all = await preview("--source", "orders");
  expect(all).toMatch(/would be taken +3\n/);
  expect(all).toMatch(/refused +1 \(payload-unparsable 1\)/);
  expect(all).toMatch(/warning +1 event: the target.s protocol cannot carry the headers "my header", "x:y", /);
  const confirmed = await preview("--source", "orders", "--despite", "payload-unparsable");
  expect(confirmed).toMatch(/would be taken +4\n/);
  expect(confirmed).toMatch(/warning +1 event: the payload is not valid JSON in UTF-8; sent unchanged, as confirmed/);
});

test("an encoded body is shown decoded", async () => {
  const shown = await commandLine.run("show", "gzip");
  expect(shown.out).toContain('Payload (application/json, 34 B, decoded from gzip)\n  {"orderId":77}\n');
});
