/** Points of a sparkline in a box of `width` x `height`, oldest first; a flat line for all zero, none for one value. */
export function sparkPoints(values: number[], width: number, height: number): string {
  if (values.length < 2) return "";
  const max = Math.max(...values, 0);
  const step = width / (values.length - 1);
  return values
    .map((value, index) => {
      const y = max === 0 ? height : height - (Math.max(value, 0) / max) * height;
      return `${round(index * step)},${round(y)}`;
    })
    .join(" ");
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** A trend without axes. Text beside it says the same, so it is hidden from screen readers. */
export function Sparkline({ values, width = 72, height = 18 }: { values: number[]; width?: number; height?: number }) {
  const points = sparkPoints(values, width - 2, height - 3);
  if (points === "") return <span className="inline-block" style={{ width, height }} />;
  return (
    <svg
      aria-hidden="true"
      width={width}
      height={height}
      viewBox={`-1 -1.5 ${width} ${height}`}
      className="overflow-visible text-muted"
    >
      <polyline points={points} fill="none" stroke="currentColor" strokeWidth={1.25} strokeLinejoin="round" />
    </svg>
  );
}
