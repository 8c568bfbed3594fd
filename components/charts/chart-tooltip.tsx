import type { ReactNode } from "react";

type TooltipLine = { key: string; label: string; value: string; colour: string };

export function ChartTooltip({ title, lines, note }: { title: string; lines: TooltipLine[]; note?: ReactNode }) {
  return (
    <div className="min-w-44 max-w-80 rounded-md border bg-raised px-2.5 py-2 text-sm text-ink shadow-pop">
      <p className="mb-1 text-muted">{title}</p>
      <dl className="grid grid-cols-[auto_1fr_auto] items-center gap-x-2">
        {lines.map((line) => (
          <div key={line.key} className="contents">
            <span aria-hidden className="size-2 rounded-[2px]" style={{ background: line.colour }} />
            <dt className="truncate">{line.label}</dt>
            <dd className="text-right font-mono">{line.value}</dd>
          </div>
        ))}
      </dl>
      {note}
    </div>
  );
}
