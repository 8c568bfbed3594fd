import type { Place } from "@/lib/brokers/kafka/message";

/** One partition while this member holds it without a gap: after a gap another member may have committed further. */
export class AssignedPartition {
  readonly place: Place;
  leader: number | null;
  /** Where the next fetch begins. */
  position: bigint;
  /** The group's offset as far as this member knows it; null = none. */
  committed: bigint | null;
  /** The offset behind the last committed record of the log; null until the first fetch. */
  endOffset: bigint | null = null;
  /** It was assigned to another member, or its topic was deleted. */
  lost = false;
  /** Batches that are fetched and not handed out whole. */
  buffered = 0;
  /** Messages that were acknowledged. */
  parked = 0;
  private handedOut: bigint;
  /** Handed out and not acknowledged, in the order of their offsets. */
  private readonly inHand = new Set<bigint>();

  constructor(place: Place, start: { leader: number | null; position: bigint; committed: bigint | null }) {
    this.place = place;
    this.leader = start.leader;
    this.position = start.position;
    this.handedOut = start.position;
    this.committed = start.committed;
  }

  handOut(offset: bigint): void {
    this.inHand.add(offset);
    this.handedOut = offset + 1n;
  }

  acknowledge(offset: bigint): void {
    if (this.inHand.delete(offset)) this.parked += 1;
  }

  /** Everything before this offset is stored, or is no dead letter (aborted, control, compacted). A message set aside holds it back. */
  get safeOffset(): bigint {
    for (const oldest of this.inHand) return oldest;
    return this.buffered === 0 ? this.position : this.handedOut;
  }

  /** The offset to commit; null = the group has it already. An offset is never moved back. */
  get toCommit(): bigint | null {
    if (this.lost) return null;
    const safe = this.safeOffset;
    return this.committed === null || safe > this.committed ? safe : null;
  }

  /** Records behind the safe offset; null = not known yet. */
  get lag(): number | null {
    if (this.endOffset === null) return null;
    const lag = this.endOffset - this.safeOffset;
    return lag > 0n ? Number(lag) : 0;
  }
}
