import { type Anchor, type AnchorSignatures, CHAIN_SCOPES, type ReadAnchor } from "@/lib/guard/audit-chain/chain.pure";

type Chain = { signedFrom: number; signedUntil: number; lastUnsigned: Anchor | null };

/** What the signatures of the anchors outside say, as they are read. */
export function collectSignatures() {
  const chains = new Map<string, Chain & Pick<Anchor, "scope">>();
  let unsigned = 0;
  return {
    note(anchor: ReadAnchor): void {
      const key = `${anchor.scope} ${anchor.place}`;
      const none = { signedFrom: Number.POSITIVE_INFINITY, signedUntil: 0, lastUnsigned: null };
      const chain = chains.get(key) ?? { scope: anchor.scope, ...none };
      chains.set(key, chain);
      if (anchor.signature === "right") {
        chain.signedFrom = Math.min(chain.signedFrom, anchor.seq);
        chain.signedUntil = Math.max(chain.signedUntil, anchor.seq);
      } else if (anchor.signature === "none") {
        unsigned++;
        if (anchor.seq > (chain.lastUnsigned?.seq ?? 0)) chain.lastUnsigned = anchor;
      }
    },
    result(): AnchorSignatures {
      const until = (scope: string) =>
        Math.max(0, ...[...chains.values()].map((chain) => (chain.scope === scope ? chain.signedUntil : 0)));
      const signedUntil = CHAIN_SCOPES.map((scope) => ({ scope, seq: until(scope) })).filter(({ seq }) => seq > 0);
      return { unsigned, signedUntil };
    },
    /**
     * The last one without a signature of each place and chain, where it says a later end than one with a signature. By their
     * numbers, since an unsigned line may give any time; one with a lower number can hide nothing.
     */
    unsignedAfterSigned(): Anchor[] {
      return [...chains.values()].flatMap(({ signedFrom, lastUnsigned }) =>
        lastUnsigned !== null && lastUnsigned.seq > signedFrom ? [lastUnsigned] : [],
      );
    },
  };
}
