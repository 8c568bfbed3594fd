import * as z from "zod/mini";
import { uuidText } from "@/lib/platform/api/schemas.shapes";
import { DomainError, type FieldError, invalidFields, type ProblemCode } from "@/lib/platform/plain/problem.pure";
import { UUID } from "@/lib/platform/plain/uuid.pure";

/**
 * What a route takes in its address. `parameters` are the schemas by name: the API's document is made of them, and `read`
 * parses with them. `problems` are the codes with which `read` refuses.
 */
export type QueryOf<Out> = {
  parameters: Readonly<Record<string, z.core.$ZodType>>;
  problems: readonly ProblemCode[];
  /** Throws DomainError of one of `problems`. */
  read(params: URLSearchParams, nowMs: number): Out;
};
export type PathOf<Out> = Omit<QueryOf<Out>, "read"> & { read(params: Readonly<Record<string, string>>): Out };

type Codes<Shape> = Partial<Record<keyof Shape, ProblemCode>>;
/** The values of a query; an absent one is null. */
export type ValuesOf<Shape extends z.core.$ZodLooseShape> = OrNull<z.output<z.ZodMiniObject<Shape>>>;
type OrNull<Out> = {
  [Name in keyof Out]-?: undefined extends Out[Name] ? Exclude<Out[Name], undefined> | null : Out[Name];
};

/**
 * A query string of single values. A name that is not in `shape` is refused, so that a misspelt condition is never
 * silently wide. A fault has the code that `codes` names for its parameter, else `invalid-request`. An absent value is
 * null.
 */
export function queryOf<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  codes: Codes<Shape> = {},
): QueryOf<ValuesOf<Shape>> {
  const schema = z.object(shape as z.core.$ZodLooseShape);
  const absent = Object.fromEntries(Object.keys(shape).map((name) => [name, null]));
  return {
    parameters: shape,
    problems: [...new Set<ProblemCode>(["invalid-request", ...(Object.values(codes) as ProblemCode[])])],
    read: (params) => {
      const { raw, faults } = singleValues(shape, params);
      const parsed = schema.safeParse(raw);
      if (parsed.success && faults.length === 0) return { ...absent, ...parsed.data } as ValuesOf<Shape>;
      for (const { path, message } of parsed.error?.issues ?? []) {
        faults.push({ field: String(path[0]), detail: message });
      }
      const code = codes[faults[0]!.field as keyof Shape] ?? "invalid-request";
      throw invalidFields(faults, code);
    },
  };
}

/** The same query, read further. `problems`: codes with which `next` refuses. */
export function thenRead<Out, Next>(
  query: QueryOf<Out>,
  problems: readonly ProblemCode[],
  next: (out: Out, nowMs: number) => Next,
): QueryOf<Next> {
  return {
    parameters: query.parameters,
    problems: [...new Set([...query.problems, ...problems])],
    read: (params, nowMs) => next(query.read(params, nowMs), nowMs),
  };
}

/** The values of a query string as their schemas take them: a parameter whose schema is a number is read as one. */
function singleValues(shape: z.core.$ZodLooseShape, params: URLSearchParams) {
  const raw: Record<string, unknown> = {};
  const faults: FieldError[] = [];
  const names = Object.keys(shape);
  for (const name of new Set(params.keys())) {
    const [text = "", ...more] = params.getAll(name);
    if (!names.includes(name)) {
      const detail = names.length === 0 ? "unknown: this endpoint takes no query" : `unknown: use ${names.join(", ")}`;
      faults.push({ field: name, detail });
    } else if (more.length > 0) faults.push({ field: name, detail: "must be given once" });
    else raw[name] = isNumber(shape[name] as z.core.$ZodTypes) ? numberOrText(text) : text;
  }
  return { raw, faults };
}

function isNumber(schema: z.core.$ZodTypes): boolean {
  const { def } = schema._zod;
  if (def.type === "optional" || def.type === "default") return isNumber(def.innerType as z.core.$ZodTypes);
  return def.type === "number";
}

/** Text that is no decimal number stays text, which the schema refuses: `0x10` is a number to JavaScript alone. */
function numberOrText(text: string): number | string {
  return /^-?\d+(\.\d+)?([eE][+-]?\d{1,3})?$/.test(text) ? Number(text) : text;
}

export const noQuery = queryOf({});

export const noParams: PathOf<Record<never, never>> = { parameters: {}, problems: [], read: () => ({}) };

const EVENT_ID = "must be the event's id, a UUID: look up an eventId with GET /api/v1/events?eventId=";

/** The path parameter `id`: what is no UUID names nothing, so it is refused with `code` too. */
export function byId(code: ProblemCode & `unknown-${string}`): PathOf<{ id: string }> {
  return {
    parameters: { id: uuidText() },
    problems: [code],
    read: ({ id = "" }) => {
      if (UUID.test(id)) return { id: id.toLowerCase() };
      throw new DomainError(code, `There is no ${code.slice("unknown-".length)} ${id}`, {
        fields: [{ field: "id", detail: code === "unknown-event" ? EVENT_ID : "must be a UUID" }],
      });
    },
  };
}

const nameSchema = z.string().check(z.minLength(1), z.maxLength(100));

/** The path parameter `name`; whether there is such a thing says the operation, with `code`. */
export function byName(code: ProblemCode & `unknown-${string}`): PathOf<{ name: string }> {
  return { parameters: { name: nameSchema }, problems: [code], read: ({ name = "" }) => ({ name }) };
}
