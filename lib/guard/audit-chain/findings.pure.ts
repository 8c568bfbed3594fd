import {
  type Anchor,
  type ChainReport,
  FINDING_CODES,
  FINDING_WORDS,
  FINDINGS_MAX,
  type Finding,
  type FindingCode,
} from "@/lib/guard/audit-chain/chain.pure";

type At = { seq?: number; entryId?: string | null };

export type Findings = {
  note(code: FindingCode, at: At, more?: string): void;
  /** An anchor, or several that say the same end of the chain: these are one finding, which names their places. */
  noteAnchor(code: FindingCode, anchor: Anchor, entryId: string | null): void;
  result(): Pick<ChainReport, "good" | "first" | "findings" | "findingsTotal">;
};

/** Keeps the most telling findings, in the order of FINDING_CODES: thousands of bad anchors hide no changed entry. */
export function collectFindings(): Findings {
  const kept: Finding[] = [];
  const ofAnchors = new Map<string, { finding: Finding; places: Places }>();
  let total = 0;

  function add(code: FindingCode, at: At, detail: string): Finding {
    const finding = { code, seq: at.seq ?? null, entryId: at.entryId ?? null, detail };
    const next = kept.findIndex((other) => inOrder(finding, other) < 0);
    kept.splice(next === -1 ? kept.length : next, 0, finding);
    kept.splice(FINDINGS_MAX);
    total++;
    return finding;
  }

  return {
    note: (code, at, more) => void add(code, at, more ? `${FINDING_WORDS[code]} (${more})` : FINDING_WORDS[code]),
    noteAnchor: (code, anchor, entryId) => {
      const key = `${code} ${anchor.seq}`;
      const same = ofAnchors.get(key) ?? { finding: add(code, { seq: anchor.seq, entryId }, ""), places: new Map() };
      ofAnchors.set(key, same);
      const place = same.places.get(anchor.place) ?? { object: anchor.object ?? null, more: -1 };
      same.places.set(anchor.place, { ...place, more: place.more + 1 });
      same.finding.detail = `${FINDING_WORDS[code]} (from ${placesText(same.places)})`;
    },
    result: () => ({ good: total === 0, first: kept[0] ?? null, findings: kept, findingsTotal: total }),
  };
}

/** Of each place the first object, and how many more anchors there say the same. */
type Places = Map<string, { object: string | null; more: number }>;

function placesText(places: Places): string {
  return [...places]
    .map(
      ([place, { object, more }]) => `${object ? `${place}: ${object}` : place}${more > 0 ? ` and ${more} more` : ""}`,
    )
    .join("; ");
}

function inOrder(a: Finding, b: Finding): number {
  const rank = ({ code }: Finding) => FINDING_CODES.indexOf(code);
  return rank(a) - rank(b) || (a.seq ?? 0) - (b.seq ?? 0);
}
