import { describe, expect, it, vi } from "vitest";
import { Coalescer } from "@/lib/retry/coalesce";
import { settle } from "@/lib/retry/testing/manual-clock";
import { countListeners } from "@/lib/retry/testing/scripted-call";

function open() {
  const runs: { signal: AbortSignal; resolve: (value: string) => void; reject: (error: unknown) => void }[] = [];
  const start = vi.fn(
    (signal: AbortSignal) => new Promise<string>((resolve, reject) => runs.push({ signal, resolve, reject })),
  );
  return { runs, start };
}

describe("coalescing", () => {
  it("runs once for all who ask meanwhile, and anew for who asks later", async () => {
    const coalescer = new Coalescer<string>();
    const { runs, start } = open();
    const both = [coalescer.run("k", start), coalescer.run("k", start)];
    void coalescer.run("other", start);
    expect(coalescer.size).toBe(2);
    runs[0]!.resolve("shared");
    expect(await Promise.all(both)).toEqual(["shared", "shared"]);
    expect(coalescer.size).toBe(1);
    expect(runs[0]!.signal.aborted).toBe(false);
    void coalescer.run("k", start);
    expect(start).toHaveBeenCalledTimes(3);
  });

  it("shares an error too, and forgets it", async () => {
    const coalescer = new Coalescer<string>();
    const { runs, start } = open();
    const both = [coalescer.run("k", start), coalescer.run("k", start, new AbortController().signal)];
    runs[0]!.reject("broken");
    expect((await Promise.allSettled(both)).map((end) => end.status === "rejected" && end.reason)).toEqual([
      "broken",
      "broken",
    ]);
    expect(coalescer.size).toBe(0);
  });

  it("lets one caller leave without disturbing the others", async () => {
    const coalescer = new Coalescer<string>();
    const { runs, start } = open();
    const controller = new AbortController();
    const listeners = countListeners(controller.signal);
    const leaving = coalescer.run("k", start, controller.signal);
    const staying = coalescer.run("k", start, new AbortController().signal);
    await settle();
    expect(listeners()).toBe(1);
    controller.abort("gone");
    await expect(leaving).rejects.toBe("gone");
    expect(runs[0]!.signal.aborted).toBe(false);
    runs[0]!.resolve("shared");
    expect(await staying).toBe("shared");
    await settle();
    expect(listeners()).toBe(0);
  });

  it("aborts the run when the last caller has left, and starts anew for the next", async () => {
    const coalescer = new Coalescer<string>();
    const { runs, start } = open();
    const controllers = [new AbortController(), new AbortController()];
    const leaving = controllers.map(({ signal }) => coalescer.run("k", start, signal));
    controllers[0]!.abort("gone");
    controllers[1]!.abort("gone");
    await Promise.allSettled(leaving);
    expect(runs[0]!.signal.aborted).toBe(true);
    expect(coalescer.size).toBe(0);
    const next = coalescer.run("k", start);
    runs[0]!.reject("aborted");
    await settle();
    expect(coalescer.size).toBe(1);
    runs[1]!.resolve("new");
    expect(await next).toBe("new");
  });

  it("starts nothing for an aborted caller", async () => {
    const coalescer = new Coalescer<string>();
    const { start } = open();
    await expect(coalescer.run("k", start, AbortSignal.abort("gone"))).rejects.toBe("gone");
    expect(start).not.toHaveBeenCalled();
  });
});
