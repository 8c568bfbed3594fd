import { describe, expect, it } from "vitest";
import { BatchedPublisher, type BatchOutcome } from "@/lib/brokers/batched-publisher";
import { PublishError } from "@/lib/brokers/port";
import { outboundMessage } from "@/lib/brokers/testing/outbound";

const never = new AbortController().signal;

function harness(limits = { batchMax: 3, inFlightMax: 1 }) {
  const batches: string[][] = [];
  const answers: PromiseWithResolvers<BatchOutcome[]>[] = [];
  const signals: AbortSignal[] = [];
  const publisher = new BatchedPublisher((batch, signal) => {
    batches.push(batch.map(({ eventId }) => eventId));
    signals.push(signal);
    const answer = Promise.withResolvers<BatchOutcome[]>();
    answers.push(answer);
    return answer.promise;
  }, limits);
  const publish = (eventId: string, signal = never) => publisher.publish(outboundMessage({ eventId }), signal);
  return { batches, answers, signals, publish };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const ok = { status: "stored" };

describe("a batched publisher", () => {
  it("sends together what is asked for in one turn, and then what came while a batch was on its way", async () => {
    const { batches, answers, publish } = harness();
    const sent = ["a", "b", "c", "d"].map((id) => publish(id));
    await turn();
    expect(batches).toEqual([["a", "b", "c"]]);
    sent.push(publish("e"));
    await turn();
    expect(batches).toHaveLength(1);
    answers[0]!.resolve([ok, ok, ok]);
    await turn();
    expect(batches).toEqual([
      ["a", "b", "c"],
      ["d", "e"],
    ]);
    answers[1]!.resolve([ok, ok]);
    expect(await Promise.all(sent)).toEqual([ok, ok, ok, ok, ok]);
  });

  it("gives each message its own outcome, and one error to all when nothing is known", async () => {
    const { answers, publish } = harness();
    const refused = new PublishError("TOO_LARGE", "too large", { sent: "no" });
    const [a, b] = [publish("a"), publish("b")];
    await turn();
    answers[0]!.resolve([refused, ok]);
    await expect(a).rejects.toBe(refused);
    expect(await b).toBe(ok);
    const lost = [publish("c"), publish("d")];
    await turn();
    answers[1]!.reject(refused);
    expect(await Promise.allSettled(lost)).toEqual([
      { status: "rejected", reason: refused },
      { status: "rejected", reason: refused },
    ]);
  });

  it("does not send what was given up before, and ends a batch that nobody waits for", async () => {
    const { batches, signals, publish } = harness();
    const early = new AbortController();
    const late = new AbortController();
    const [a, b] = [publish("a", early.signal), publish("b", late.signal)];
    early.abort(new Error("timeout"));
    await expect(a).rejects.toThrow("timeout");
    await turn();
    expect(batches).toEqual([["b"]]);
    expect(signals[0]!.aborted).toBe(false);
    late.abort(new Error("timeout"));
    await expect(b).rejects.toThrow("timeout");
    expect(signals[0]!.aborted).toBe(true);
  });
});
