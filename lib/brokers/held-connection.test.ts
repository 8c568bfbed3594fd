import { describe, expect, it } from "vitest";
import { HeldConnection } from "@/lib/brokers/held-connection";

function harness() {
  const made: { open: boolean; closes: number; close(): Promise<void> }[] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  const held = new HeldConnection(
    async () => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      const connection = {
        open: true,
        closes: 0,
        close: async () => {
          connection.open = false;
          connection.closes += 1;
        },
      };
      made.push(connection);
      return connection;
    },
    ({ open }) => open,
  );
  return { held, made, gates };
}

const never = new AbortController().signal;

describe("a held connection", () => {
  it("is opened once for all who ask at once, and again after it was lost", async () => {
    const { held, made, gates } = harness();
    const users = Array.from({ length: 50 }, () => held.use(never));
    gates[0]!.resolve();
    expect(new Set(await Promise.all(users)).size).toBe(1);
    expect(gates).toHaveLength(1);
    made[0]!.open = false;
    const again = held.use(never);
    gates[1]!.resolve();
    expect(await again).toBe(made[1]);
  });

  it("goes on opening for the others when one gives up, and forgets a failure", async () => {
    const { held, made, gates } = harness();
    const impatient = new AbortController();
    const [first, second] = [held.use(impatient.signal), held.use(never)];
    impatient.abort(new Error("timeout"));
    await expect(first).rejects.toThrow("timeout");
    gates[0]!.reject(new Error("refused"));
    await expect(second).rejects.toThrow("refused");
    const third = held.use(never);
    gates[1]!.resolve();
    expect(await third).toBe(made[0]);
  });

  it("closes what is still opening, and opens nothing more", async () => {
    const { held, made, gates } = harness();
    const user = held.use(never);
    const closing = held.close();
    gates[0]!.resolve();
    await user;
    await closing;
    expect(made[0]!.closes).toBe(1);
    await expect(held.use(never)).rejects.toThrow("closed");
    expect(gates).toHaveLength(1);
  });
});
