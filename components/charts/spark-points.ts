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
