import type { CeleryConfig } from "@/lib/brokers/celery/kind.shapes";

type Names = Pick<CeleryConfig, "keyPrefix" | "queue" | "separator">;

const SEPARATOR = "\u0006\u0016";

export const separatorOf = ({ separator = SEPARATOR }: Pick<Names, "separator">): string => separator;

/** The list of a queue that holds messages of one priority step. */
export function listOf({ keyPrefix = "", ...names }: Names, step: number): string {
  return `${keyPrefix}${names.queue}${step === 0 ? "" : `${separatorOf(names)}${step}`}`;
}

/** Every list that the queue can have, in the order in which Kombu empties them. */
export function listsOf(names: Names): string[] {
  return Array.from({ length: 10 }, (_, step) => listOf(names, step));
}

/** Parkade's own keys beside a queue: they begin with its name, so that one pattern of an ACL covers them. */
export function ownKeys(names: Names) {
  const owners = `${listOf(names, 0)}.parkade`;
  return {
    /** The set of readers that may hold messages. */
    owners,
    /** The messages that a reader has taken and not acknowledged, the oldest at the right. */
    held: (owner: string) => `${owners}.${owner}`,
    /** There for as long as the reader lives. */
    lease: (owner: string) => `${owners}.${owner}.alive`,
  };
}

export function bindingsOf({ keyPrefix = "" }: Pick<Names, "keyPrefix">, exchange: string): string {
  return `${keyPrefix}_kombu.binding.${exchange}`;
}
