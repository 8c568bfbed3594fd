import type { Anchor, ChainHead } from "@/lib/guard/audit-chain/chain.pure";

/** What stands outside: one line of JSON for each end of the chain. */
export function anchorLine({ seq, chainHash }: ChainHead, at: string): string {
  return `${JSON.stringify({ parkade: "audit-anchor", seq, chainHash, at })}\n`;
}

/** Of the lines of a file that others may have changed. A line that is no anchor is left out. */
export function parseAnchors(text: string, { place, object }: { place: string; object: string }): Anchor[] {
  return text.split("\n").flatMap((line) => {
    const facts = factsOf(line);
    return facts === null ? [] : [{ ...facts.head, place, object, atMs: Date.parse(facts.at) }];
  });
}

/** null = it is no anchor, or one with a scope: of the chains of 0.1.0, whose entries are sealed anew. */
function factsOf(line: string): { head: ChainHead; at: string } | null {
  if (!line.startsWith("{")) return null;
  try {
    const { parkade, scope, seq, chainHash, at } = JSON.parse(line) as Record<string, unknown>;
    if (parkade !== "audit-anchor" || scope !== undefined) return null;
    if (!Number.isSafeInteger(seq) || typeof chainHash !== "string") return null;
    return { head: { seq: seq as number, chainHash }, at: String(at) };
  } catch {
    return null;
  }
}
