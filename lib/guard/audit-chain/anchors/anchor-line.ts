import { type Anchor, type ChainHead, isHead } from "@/lib/guard/audit-chain/chain.pure";

/** What stands outside: one line of JSON for each end of a chain. */
export function anchorLine({ scope, seq, chainHash }: ChainHead, at: string): string {
  return `${JSON.stringify({ parkade: "audit-anchor", scope, seq, chainHash, at })}\n`;
}

/** Of the lines of a file that others may have changed. A line that is no anchor is left out. */
export function parseAnchors(text: string, { place, object }: { place: string; object: string }): Anchor[] {
  return text.split("\n").flatMap((line) => {
    const facts = factsOf(line);
    return facts === null ? [] : [{ ...facts.head, place, object, atMs: Date.parse(facts.at) }];
  });
}

function factsOf(line: string): { head: ChainHead; at: string } | null {
  if (!line.startsWith("{")) return null;
  try {
    const facts: unknown = JSON.parse(line);
    if (!isHead(facts)) return null;
    const { scope, seq, chainHash } = facts;
    return { head: { scope, seq, chainHash }, at: String((facts as { at?: unknown }).at) };
  } catch {
    return null;
  }
}
