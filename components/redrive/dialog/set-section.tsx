import { useZone } from "@/lib/platform/browser/clock-zone.browser";
import { formatClock, formatNumber } from "@/lib/platform/plain/format.pure";
import type { PreviewOut } from "@/lib/redrive/preview/redrive-preview.shapes";
import { LabelledRow } from "./form-row";

/** The events that would be sent, by error code, and when they were counted. */
export function SetSection(props: { preview: PreviewOut; filtered: boolean; along: number }) {
  const { preview } = props;
  return (
    <LabelledRow label="Events">
      {preview.eligible === 0 ? null : <ErrorCodes byErrorCode={preview.byErrorCode} />}
      <Cutoff {...props} />
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

/** `along`: earlier versions that are taken along. */
function Cutoff({ preview, filtered, along }: { preview: PreviewOut; filtered: boolean; along: number }) {
  const zone = useZone();
  const at = formatClock(Date.parse(preview.cutoff), zone);
  return (
    <p className="text-muted">
      {filtered
        ? `frozen at ${at}: later arrivals are not included`
        : `${selectedWords(preview.total, along)}, counted at ${at}`}
    </p>
  );
}

/** `the one selected and 4 earlier`. */
function selectedWords(total: number | null, along: number): string {
  if (along === 0 || total === null) return "exactly the events selected";
  const selected = total - along;
  return `${selected === 1 ? "the one" : `the ${formatNumber(selected)}`} selected and ${formatNumber(along)} earlier`;
}
