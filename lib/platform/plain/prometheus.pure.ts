/** One metric in the Prometheus text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/). */
export type Metric = {
  name: string;
  help: string;
  type: "gauge" | "counter" | "summary";
  samples: { labels?: Record<string, string>; value: number | null }[];
};

/** Samples whose value is unknown (null) are left out: a missing number is honest, a zero is not. */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics.map(metricText).join("");
}

function metricText({ name, help, type, samples }: Metric): string {
  const lines = samples.flatMap(({ labels, value }) =>
    value === null ? [] : [`${name}${labelsText(labels ?? {})} ${valueText(value)}\n`],
  );
  return `# HELP ${name} ${help.replace(/\\/g, "\\\\").replace(/\n/g, "\\n")}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function labelsText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escapeLabel(value: string): string {
  return value.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/"/g, '\\"');
}

function valueText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

export function gauge(name: string, help: string, samples: Metric["samples"]): Metric {
  return { name, help, type: "gauge", samples };
}

/** Samples with the label `quantile`, which Prometheus reserves for summaries. */
export function summary(name: string, help: string, samples: Metric["samples"]): Metric {
  return { name, help, type: "summary", samples };
}
