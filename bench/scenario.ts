import { timed } from "./figures.ts";

type Bound = { min?: number; max?: number };

/** One figure of a scenario. */
export type Reading = {
  name: string;
  value: number;
  /** Such as `ms` or `events/s`. */
  unit: string;
  /** Of the value. */
  bound?: Bound;
  /** What it is compared with, measured in the same run; `bound` is that of the ratio. */
  baseline?: { name: string; value: number; bound?: Bound };
  note?: string;
};

type Judged = Reading & {
  /** Of the value to its baseline; null without one. */
  ratio: number | null;
  /** Null: it has no bound. */
  met: boolean | null;
};

/** Is given what ends the scenario's servers, also after a failure, the last first. */
type AtEnd = (stop: () => unknown) => void;

type Scenario<World> = {
  name: string;
  /** Starts what is measured and what it needs. */
  open(atEnd: AtEnd): Promise<World>;
  fill?(world: World): Promise<unknown>;
  /** Yields each reading as soon as it has it. */
  measure(world: World): AsyncIterable<Reading>;
};

/**
 * The `run` of a bench: opens, fills, measures, prints each reading against its bounds, and ends everything. The process ends with 1
 * when a bound was missed.
 */
export function scenario<World>({ name, open, fill, measure }: Scenario<World>): () => Promise<void> {
  return async () => {
    const stops: (() => unknown)[] = [];
    try {
      const world = await open((stop) => void stops.unshift(stop));
      if (fill) console.log(`${name}: filled in ${((await timed(() => fill(world))) / 1000).toFixed(0)} s`);
      for await (const reading of measure(world)) {
        const judged = judge(reading);
        console.log(`${name} ${wordsOf(judged)}`);
        if (judged.met === false) process.exitCode = 1;
      }
    } finally {
      for (const stop of stops) await stop();
    }
  };
}

function judge(reading: Reading): Judged {
  const { value, bound, baseline } = reading;
  const ratio = baseline ? value / baseline.value : null;
  const bounds = [
    ...(bound ? [within(value, bound)] : []),
    ...(baseline?.bound ? [within(ratio!, baseline.bound)] : []),
  ];
  return { ...reading, ratio, met: bounds.length === 0 ? null : bounds.every(Boolean) };
}

/** A figure that is no number keeps no bound. */
function within(value: number, { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }: Bound): boolean {
  return value >= min && value <= max;
}

function wordsOf({ name, value, unit, bound, baseline, ratio, note, met }: Judged): string {
  const compared = baseline && `ratio ${ratio!.toFixed(3)} of ${figure(baseline.value)} ${baseline.name}`;
  const parts = [
    `${name.padEnd(36)} ${figure(value)} ${unit}${aim(bound)}`,
    ...(compared ? [`${compared}${aim(baseline.bound)}`] : []),
    ...(note ? [note] : []),
  ];
  return `${parts.join(", ")}${met === null ? "" : met ? ": ok" : ": MISSED"}`;
}

const figure = (value: number) => value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) >= 100 ? 0 : 2 });

function aim({ min, max }: Bound = {}): string {
  const words = [...(min === undefined ? [] : [`>= ${min}`]), ...(max === undefined ? [] : [`<= ${max}`])];
  return words.length === 0 ? "" : ` (aim ${words.join(" and ")})`;
}

/**
 * Measures the sides one after the other, turn by turn, so that a slow moment of the machine affects all of them. The first `warm`
 * turns are not counted: they plan statements and compile code.
 */
export async function inTurns<Side extends string, Measured>(
  { turns, warm = 0 }: { turns: number; warm?: number },
  sides: Record<Side, (turn: number) => Promise<Measured>>,
): Promise<Record<Side, Measured[]>> {
  const names = Object.keys(sides) as Side[];
  const measured = Object.fromEntries(names.map((side) => [side, [] as Measured[]])) as Record<Side, Measured[]>;
  for (let turn = 0; turn < warm + turns; turn++) {
    for (const side of names) {
      const one = await sides[side](turn);
      if (turn >= warm) measured[side].push(one);
    }
  }
  return measured;
}
