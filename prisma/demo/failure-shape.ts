import type { Random } from "./random";

/** The rate of a failure over the days. */
export type Rhythm =
  /** Around one moment, days before now, for some hours. */
  | { kind: "burst"; daysAgo: number; hours: number }
  /** Since some hours ago, growing. */
  | { kind: "recent"; hours: number };

type FailedEvent = { id: number; aggregate: string; version: number; random: Random };

/** One kind of failure: all its events belong to one group. */
export type Failure = {
  source: "orders" | "payments" | "shipping" | "inventory" | "notifications";
  errorCode: string;
  eventType: string;
  type: string;
  message: (facts: FailedEvent) => string;
  /** Frames, innermost first. */
  frames: string[];
  language: "java" | "node" | "python" | "dotnet";
  /** Share of all events. */
  weight: number;
  /** Left out: one attempt, as of a consumer that knows that another one cannot help. */
  attempts?: [min: number, max: number];
  /** Left out: always, more by day than by night. */
  rhythm?: Rhythm;
  /** Its payloads do not match the source's JSON Schema. */
  broken?: true;
};
