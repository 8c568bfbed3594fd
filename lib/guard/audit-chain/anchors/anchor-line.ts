import { createHmac, timingSafeEqual } from "node:crypto";
import { type ChainHead, isHead, type ReadAnchor } from "@/lib/guard/audit-chain/chain.pure";

/** What stands outside: one line of JSON for each end of a chain. @param secret null = lines are not signed */
export function anchorLine(head: ChainHead, { at, secret }: { at: string; secret: string | null }): string {
  const { scope, seq, chainHash } = head;
  const facts = { parkade: "audit-anchor", scope, seq, chainHash, at };
  return `${JSON.stringify(secret === null ? facts : { ...facts, signature: signatureOf(head, at, secret) })}\n`;
}

/**
 * Of the lines of a file that others may have changed. A line that is no anchor is left out. @param secrets verify: the present one
 * and former ones; none = signatures are not judged
 */
export function parseAnchors(
  text: string,
  { place, object, secrets }: { place: string; object: string; secrets: readonly string[] },
): ReadAnchor[] {
  return text.split("\n").flatMap((line) => {
    const facts = factsOf(line);
    if (facts === null) return [];
    return [{ ...facts.head, place, object, atMs: Date.parse(facts.at), signature: judge(facts, secrets) }];
  });
}

function judge({ head, at, signature }: Facts, secrets: readonly string[]): ReadAnchor["signature"] {
  if (secrets.length === 0) return null;
  if (signature === undefined) return "none";
  return secrets.some((secret) => same(String(signature), signatureOf(head, at, secret))) ? "right" : "wrong";
}

/** `signature`: whatever stands there; undefined = nothing. */
type Facts = { head: ChainHead; at: string; signature: unknown };

function factsOf(line: string): Facts | null {
  if (!line.startsWith("{")) return null;
  try {
    const facts: unknown = JSON.parse(line);
    if (!isHead(facts)) return null;
    const { scope, seq, chainHash } = facts;
    const { at, signature } = facts as { at?: unknown; signature?: unknown };
    return { head: { scope, seq, chainHash }, at: String(at), signature };
  } catch {
    return null;
  }
}

function signatureOf({ scope, seq, chainHash }: ChainHead, at: string, secret: string): string {
  return createHmac("sha256", secret)
    .update(JSON.stringify([scope, seq, chainHash, at]))
    .digest("hex");
}

function same(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
