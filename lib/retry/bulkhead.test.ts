import { describe, expect, it } from "vitest";
import { Bulkhead } from "@/lib/retry/bulkhead";

describe("a bulkhead", () => {
  it("lets its permits in and queues the rest, as far as the queue goes", () => {
    const bulkhead = new Bulkhead({ permits: 2, queueMax: 1 });
    expect([bulkhead.tryEnter(), bulkhead.tryEnter(), bulkhead.tryEnter()]).toEqual([true, true, false]);
    expect(bulkhead.hasRoom()).toBe(true);
    expect(bulkhead.queue(() => {})).not.toBeNull();
    expect(bulkhead.hasRoom()).toBe(false);
    expect(bulkhead.queue(() => {})).toBeNull();
    expect(bulkhead.snapshot()).toEqual({ permits: 2, inUse: 2, queued: 1, queueMax: 1 });
  });

  it("hands a released permit to the oldest waiter, past any newcomer", () => {
    const bulkhead = new Bulkhead({ permits: 1, queueMax: 5 });
    const order: string[] = [];
    bulkhead.tryEnter();
    bulkhead.queue(() => order.push("first"));
    bulkhead.queue(() => order.push("second"));
    bulkhead.release();
    expect(order).toEqual(["first"]);
    expect(bulkhead.tryEnter()).toBe(false);
    bulkhead.release();
    expect(order).toEqual(["first", "second"]);
    bulkhead.release();
    expect(bulkhead.snapshot()).toMatchObject({ inUse: 0, queued: 0 });
    expect(bulkhead.tryEnter()).toBe(true);
  });

  it("forgets a waiter that leaves, and tells one that comes too late", () => {
    const bulkhead = new Bulkhead({ permits: 1, queueMax: 5 });
    const granted: string[] = [];
    bulkhead.tryEnter();
    const first = bulkhead.queue(() => granted.push("first"))!;
    const second = bulkhead.queue(() => granted.push("second"))!;
    expect(first.leave()).toBe(true);
    bulkhead.release();
    expect(granted).toEqual(["second"]);
    expect(second.leave()).toBe(false);
    expect(bulkhead.snapshot().queued).toBe(0);
  });

  it("may have no queue at all", () => {
    const bulkhead = new Bulkhead({ permits: 1, queueMax: 0 });
    bulkhead.tryEnter();
    expect(bulkhead.queue(() => {})).toBeNull();
  });

  it("queues the same callback twice as two waiters", () => {
    const bulkhead = new Bulkhead({ permits: 1, queueMax: 5 });
    let granted = 0;
    const callback = () => {
      granted++;
    };
    bulkhead.tryEnter();
    bulkhead.queue(callback);
    bulkhead.queue(callback);
    bulkhead.release();
    bulkhead.release();
    expect(granted).toBe(2);
  });

  it("hands a permit to repeats before first calls, and counts both as queued", () => {
    const bulkhead = new Bulkhead({ permits: 1, queueMax: 3 });
    const granted: string[] = [];
    bulkhead.tryEnter();
    bulkhead.queue(() => granted.push("first"));
    const left = bulkhead.queue(() => granted.push("left"), { repeat: true });
    bulkhead.queue(() => granted.push("repeat"), { repeat: true });
    expect(bulkhead.snapshot()).toMatchObject({ inUse: 1, queued: 3 });
    expect(bulkhead.hasRoom()).toBe(false);
    expect(left!.leave()).toBe(true);
    bulkhead.release();
    bulkhead.release();
    expect(granted).toEqual(["repeat", "first"]);
  });

  it("that grows serves those who wait, and that shrinks takes back what is released", () => {
    const bulkhead = new Bulkhead({ permits: 1, queueMax: 9 });
    const granted: number[] = [];
    bulkhead.tryEnter();
    for (const waiter of [1, 2, 3]) bulkhead.queue(() => granted.push(waiter));
    bulkhead.resize(3);
    expect(granted).toEqual([1, 2]);
    expect(bulkhead.snapshot()).toMatchObject({ permits: 3, inUse: 3, queued: 1 });
    bulkhead.resize(1);
    bulkhead.release();
    bulkhead.release();
    expect(bulkhead.snapshot()).toMatchObject({ inUse: 1, queued: 1 });
    bulkhead.release();
    expect(granted).toEqual([1, 2, 3]);
    expect(bulkhead.snapshot()).toMatchObject({ inUse: 1, queued: 0 });
  });
});
