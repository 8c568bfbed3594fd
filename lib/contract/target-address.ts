import { isSecretReference } from "@/lib/contract/source-config";

type Addressed = { kind: string; lane: "main" | "slow"; config: Record<string, unknown> };

/** Where a target delivers, to show to a person: no user, password or query. null = the source has no such target. */
export function targetAddress({ kind, lane, config }: Addressed): string | null {
  if (kind === "http")
    return httpAddress(lane === "slow" ? (config.slowLaneUrl ?? config.redriveUrl) : config.redriveUrl);
  const queue = lane === "slow" ? config.slowLaneQueue : undefined;
  return typeof queue === "string" ? `queue ${queue}` : originAddress(config.redriveTo);
}

function httpAddress(url: unknown): string | null {
  if (typeof url !== "string") return null;
  if (isSecretReference(url)) return url;
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

function originAddress(redriveTo: unknown): string {
  const { mode, queue, exchange } = (redriveTo ?? {}) as { mode?: string; queue?: string; exchange?: string };
  if (mode === "exchange") return exchange === undefined ? "the origin exchange" : `exchange ${exchange}`;
  return queue === undefined ? "the origin queue" : `queue ${queue}`;
}
