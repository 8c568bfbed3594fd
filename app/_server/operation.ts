import type * as z from "zod/mini";
import type { PathOf, QueryOf } from "@/lib/platform/api/query.shapes";
import type { ProblemCode } from "@/lib/platform/plain/problem.pure";

/** An answer that is no JSON: its media types. */
export type Media = { media: readonly string[] };

/**
 * What one operation of the API takes and answers. The handler runs by it and the API's document is made of it, so that
 * they cannot disagree.
 */
export type Operation<Params = unknown, Query = unknown, Body = unknown> = {
  /** `operationId` of the document: what generated clients call the operation. */
  id: string;
  summary: string;
  params?: PathOf<Params>;
  /** Absent = none, and any name is refused. */
  query?: QueryOf<Query>;
  body?: z.ZodMiniType<Body>;
  /**
   * The handler reads the body itself: `body` is the shape of its JSON alone, and these are the other media types with the
   * shapes of theirs; null = no JSON.
   */
  bodyMedia?: Readonly<Record<string, z.core.$ZodType | null>>;
  /** A payload is a part of the body: it may be as large as one that is parked. */
  largeBody?: boolean;
  /** The body may be missing: every part of it has a default. */
  bodyOptional?: boolean;
  /** Of a successful answer; default 200, or 204 without an `answer`. */
  status?: number;
  /** Absent = nothing is answered. */
  answer?: z.core.$ZodType | Media;
  /** Answers of other statuses that are no problem. */
  otherAnswers?: Readonly<Record<number, z.core.$ZodType>>;
  /** Codes beside those of `params`, `query`, `body`, the key, and those that every operation may answer. */
  problems?: readonly ProblemCode[];
  /**
   * Accepts an Idempotency-Key, as each PUT, PATCH and DELETE does: a retry gets the first answer, see `once`. "own": the operation
   * stores the answer in its own transaction. A POST that changes nothing, or whose answer is shown once, accepts none; nor does an operation
   * that is sent a password ("none"), because the key would keep a hash of its body that is fast to guess.
   */
  idempotent?: true | "own" | "none";
  /** A thing with an id, under a key: answered with 201, and these operations go on with it. Implies `idempotent`. */
  creates?: readonly string[];
  /** Operations to go on with, by their ids: where the values of their parameters stand in the answer. */
  links?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Answers any caller, and reads nothing of the request. */
  open?: boolean;
  /** Answers whoever has not signed in, too, as the viewer that may do nothing: how somebody signs in. */
  anybody?: boolean;
  /**
   * Answers a session, too, whose account lacks the second factor that its role demands: how somebody adds one, and looks after the
   * own ways in until then. Absent = such a session is refused, as it is by every operation that does not say otherwise.
   */
  withoutSecondFactor?: boolean;
};

export const SELECT_PROBLEMS: readonly ProblemCode[] = [
  "invalid-filter",
  "unsupported-filter",
  "invalid-window",
  "empty-selection",
  "unknown-event",
  "unknown-operation",
  "unknown-redrive",
  "illegal-transition",
  "channel-not-found",
];

export const REVISION_PROBLEMS: readonly ProblemCode[] = [
  "event-queued",
  "illegal-transition",
  "stale-revision",
  "unknown-revision",
  "same-bytes",
];

/** Problems of an edit, which reads the revision that it is made from. */
export const EDIT_PROBLEMS: readonly ProblemCode[] = [
  ...REVISION_PROBLEMS,
  "masked-value",
  "payload-broken",
  "payload-too-large",
  "too-many-headers",
];

/** Where a link finds the id of what was answered. */
export const BODY_ID = { id: "$response.body#/id" };

const EVERY: readonly ProblemCode[] = [
  "invalid-request",
  "not-local",
  "unauthenticated",
  "second-factor-needed",
  "forbidden",
  "too-many-requests",
  "read-timeout",
  "events-busy",
  "store-unavailable",
  "internal",
];
const OF_A_BODY: readonly ProblemCode[] = [
  "invalid-json",
  "invalid-utf8",
  "unsupported-media-type",
  "payload-too-large",
];
const OF_A_KEY: readonly ProblemCode[] = ["idempotency-key-reused", "idempotency-key-in-progress"];

export function takesKey({ idempotent }: Operation, method: string): boolean {
  if (idempotent === "none") return false;
  return idempotent !== undefined || ["PUT", "PATCH", "DELETE"].includes(method);
}

export function problemsOf(operation: Operation, method: string): ProblemCode[] {
  const { params, query, body, open, problems = [] } = operation;
  if (open) return [];
  const key = takesKey(operation, method) && OF_A_KEY;
  const parts = [EVERY, params?.problems, query?.problems, body && OF_A_BODY, key, problems];
  return [...new Set(parts.flatMap((codes) => codes || []))];
}

type Handler = (request: Request, context: { params: Promise<Record<string, string>> }) => Response | Promise<Response>;

export type Described<H = Handler> = H & { operation: Operation };

export function describeOperation<H extends (...args: never[]) => unknown>(
  operation: Operation,
  handler: H,
): Described<H> {
  return Object.assign(handler, { operation });
}

/** What `creates` stands for, written out. */
export function completed<Of extends { creates?: readonly string[] }>(operation: Of): Of {
  const { creates } = operation;
  if (creates === undefined) return operation;
  const links = Object.fromEntries(creates.map((id) => [id, BODY_ID]));
  return { ...operation, idempotent: true, status: 201, links };
}
