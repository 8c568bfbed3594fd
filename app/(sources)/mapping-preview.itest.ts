import { afterEach, beforeEach, expect, test } from "vitest";
import { type Deps, setDeps } from "@/app/_server/deps";
import { sampleOf } from "@/lib/brokers/probe-sample";
import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { localViewer, type Viewer } from "@/lib/guard/viewer/viewer.pure";
import type { MappingPreview, ProbeOut } from "@/lib/sources/sources.shapes";
import { type TestConsole, testConsole } from "@/lib/testing/console";
import { deadLetter } from "@/lib/testing/letters";
import * as kinds from "./api/v1/kinds/route";
import * as preview from "./api/v1/sources/preview-mapping/route";
import * as probe from "./api/v1/sources/probe/route";

let console: TestConsole;
let probing: Deps;
beforeEach(async () => {
  console = await testConsole();
  const brokers = await console.deps.brokers();
  const letter = deadLetter({
    headers: [
      ["authorization", "Bearer hunter2"],
      ["x-order", "order-9"],
    ],
    payload: Buffer.from('{"order":{"id":"order-77"},"password":"hunter2"}'),
  });
  const result = { reachable: true as const, detail: "", depth: 4_213, sample: [sampleOf(letter)] };
  probing = { ...console.deps, brokers: async () => ({ ...brokers, probe: async () => result }) };
  setDeps(probing);
});
afterEach(() => console.close());

const CONFIG = { url: "amqp://127.0.0.1:9", queue: "orders.dlq", mapping: { tags: { token: "authorization" } } };
const look = () => console.call<ProbeOut>(probe.POST, { body: { kind: "rabbitmq", config: CONFIG } });

test("sampled messages are mapped again without their broker", async () => {
  const samples = (await look()).body.sample.map(({ message, customary }) => ({ message, customary }));
  const mapping = { aggregateId: "/order/id", tags: { order: "x-order" } };
  const answer = await console.call<MappingPreview>(preview.POST, { body: { mapping, samples } });
  expect(answer.body.samples).toMatchObject([{ aggregateId: "order-77", tags: { order: "order-9" } }]);
  const wrong = await console.call<{ code: string; fields: { field: string }[] }>(preview.POST, {
    body: { mapping: { tags: { "a b": "x" } }, samples },
  });
  expect(wrong.body.code).toBe("invalid-config");
});

test("a viewer who may not reveal sees no credential of a sample, and maps none", async () => {
  // Nor does anybody else: a probe has no way to reveal.
  for (const actions of ["all", ["view", "change-source"]] as Viewer["actions"][]) {
    setDeps({ ...probing, identify: () => ({ ...localViewer("ada"), actions }) });
    const masked = await look();
    expect(masked.text).not.toContain("hunter2");
    expect(masked.body.sample[0]).toMatchObject({ tags: { token: REDACTED } });
    expect(masked.body.sample[0]!.message.payload).toContain("order-77");
  }
});

test("each kind says how it is configured", async () => {
  const { body } = await console.call<{ items: { kind: string; fields: { path: string[] }[] }[] }>(kinds.GET);
  const rabbit = body.items.find(({ kind }) => kind === "rabbitmq")!;
  expect(rabbit.fields.find(({ path }) => path.join(".") === "redriveTo.mode")).toMatchObject({
    input: "choice",
    choices: ["origin-queue", "exchange"],
    default: "origin-queue",
  });
  expect(rabbit.fields.find(({ path }) => path.join(".") === "mapping.tags")).toMatchObject({ input: "pairs" });
});
