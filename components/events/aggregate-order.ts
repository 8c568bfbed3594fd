type Place = { id: string; version: number | string | null };

/** Whether an event waits for the head of its aggregate. Only events with versions have an order. */
export function isBehind(event: Place, head: Place | undefined): boolean {
  if (head === undefined || event.id === head.id || event.version === null || head.version === null) return false;
  return BigInt(head.version) < BigInt(event.version);
}
