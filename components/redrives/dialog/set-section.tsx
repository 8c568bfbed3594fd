import { useZone } from "@/lib/browser/clock-zone";
import type { PreviewOut } from "@/lib/contract/redrive-preview";
import { formatClock, formatNumber } from "@/lib/core/format";
import { LabelledRow } from "./form-row";

/** The events that would be sent, by error code, and when they were counted. */
export function SetSection({ preview, filtered }: { preview: PreviewOut; filtered: boolean }) {
  return (
    <LabelledRow label="Events">
      {preview.eligible === 0 ? null : <ErrorCodes byErrorCode={preview.byErrorCode} />}
      <Cutoff preview={preview} filtered={filtered} />
    </LabelledRow>
  );
}

const CODES_SHOWN = 5;

function ErrorCodes({ byErrorCode }: { byErrorCode: Record<string, number> }) {
  const codes = Object.entries(byErrorCode).sort(([, a], [, b]) => b - a);
  const rest = codes.length - CODES_SHOWN;
  return (
    <p className="flex flex-wrap gap-x-3 wrap-anywhere">
      {codes.slice(0, CODES_SHOWN).map(([code, count]) => (
        <span key={code}>
          <span className="font-mono text-sm">{code}</span> {formatNumber(count)}
        </span>
      ))}
      {rest > 0 ? <span className="text-muted">and {rest} more codes</span> : null}
      {codes.length === 0 ? <span className="text-muted">none</span> : null}
    </p>
  );
}

function Cutoff({ preview, filtered }: { preview: PreviewOut; filtered: boolean }) {
  const zone = useZone();
  const at = formatClock(Date.parse(preview.cutoff), zone);
  return (
    <p className="text-muted">
      {filtered ? `frozen at ${at}: later arrivals are not included` : `exactly the events selected, counted at ${at}`}
    </p>
  );
}
