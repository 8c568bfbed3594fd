import { describe, expect, it } from "vitest";
import { AssignedPartition } from "@/lib/brokers/kafka/assigned-partition";

function partition(position = 10n, committed: bigint | null = 10n): AssignedPartition {
  return new AssignedPartition({ topic: "t", topicId: "id", partition: 0 }, { leader: 1, position, committed });
}

describe("the offset of a partition", () => {
  it("goes no further than the oldest record that is not stored", () => {
    const one = partition();
    one.buffered = 1;
    for (const offset of [10n, 11n, 12n]) one.handOut(offset);
    for (const offset of [12n, 11n]) one.acknowledge(offset);
    expect(one.toCommit).toBeNull();
    one.acknowledge(10n);
    expect(one.toCommit).toBe(13n);
  });

  it("passes what is no dead letter once nothing before it is open", () => {
    const one = partition();
    one.buffered = 1;
    one.position = 20n; // behind control records
    one.handOut(10n);
    expect(one.safeOffset).toBe(10n);
    one.acknowledge(10n);
    expect(one.safeOffset).toBe(11n);
    one.buffered = 0;
    expect(one.toCommit).toBe(20n);
  });

  it("is never moved back, nor committed for a partition that another member has", () => {
    const reset = partition(3n, 50n); // the log was cut
    expect(reset.toCommit).toBeNull();
    const lost = partition();
    lost.handOut(10n);
    lost.acknowledge(10n);
    lost.lost = true;
    expect(lost.toCommit).toBeNull();
  });

  it("is committed where reading began, so that a start from the latest is kept", () => {
    expect(partition(42n, null).toCommit).toBe(42n);
  });

  it("tells the lag from what is stored, and none before the first fetch", () => {
    const one = partition();
    expect(one.lag).toBeNull();
    one.endOffset = 25n;
    expect(one.lag).toBe(15);
  });
});
