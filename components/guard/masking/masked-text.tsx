import { REDACTED } from "@/lib/guard/redaction/redact.pure";
import { visible } from "@/lib/platform/plain/format.pure";

/** A text with its masks in a style of their own: bullets that a sender wrote look different. */
export function MaskedText({ text }: { text: string }) {
  if (!text.includes(REDACTED)) return visible(text);
  return text.split(REDACTED).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move
    <span key={index}>
      {index === 0 ? null : <Mask />}
      {visible(part)}
    </span>
  ));
}

function Mask() {
  return (
    <span className="rounded-sm bg-selected px-0.5 text-muted" data-tip="Masked" data-masked>
      <span aria-hidden>{REDACTED}</span>
      <span className="sr-only">masked</span>
    </span>
  );
}
