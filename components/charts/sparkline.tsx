import { sparkPoints } from "@/components/charts/spark-points";

/** A trend without axes. What it says in words stands beside it, so it is hidden from readers of the screen. */
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
