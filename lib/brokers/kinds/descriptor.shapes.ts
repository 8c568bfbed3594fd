import type * as z from "zod/mini";
import { type FieldMeta, metaOf } from "@/lib/brokers/kinds/fields.shapes";

type Capabilities = {
  /** It reads dead letters from a broker; without it events come by Parkade's API. */
  reads: boolean;
  redrives: boolean;
  /** It sends back in order: per key, group or queue, in the words of the broker; null = the broker has no order. */
  order: string | null;
  /** A target of its own for the slow lane can be set. */
  slowLane: boolean;
};

/** One kind of source: everything but the code that talks to its broker, which lies in lib/brokers/<kind>. */
export type KindDescriptor<Schema extends z.ZodMiniObject = z.ZodMiniObject> = {
  kind: string;
  /** The name people use: `RabbitMQ`. */
  label: string;
  /** One sentence: what it reads and where it sends. */
  about: string;
  /** A name of the icon set, without its package. */
  icon: string;
  config: Schema;
  capabilities: Capabilities;
  /**
   * The settings that say where a redrive delivers. A named target has its own values of them, and none of the
   * source's: a credential goes to no other server. Empty = the kind sends back in place only.
   */
  destination: readonly (keyof z.infer<Schema> & string)[];
  /** A configuration that could work, for docs, forms and the API's document. */
  example: z.input<Schema>;
  /** The page in docs/. */
  docs: string;
  /** What is read, in words: `queue orders.dlq`; null when nothing is. Holds no secret. */
  reads(config: z.infer<Schema>): string | null;
  /** Where a lane delivers, without secrets; the slow lane defaults to the main one. null: nowhere, redrives are refused as `no-target`. */
  address(config: z.infer<Schema>, lane: "main" | "slow"): string | null;
};

/** Checks the types of a descriptor and keeps them. */
export function descriptor<Schema extends z.ZodMiniObject>(kind: KindDescriptor<Schema>): KindDescriptor<Schema> {
  return kind;
}

export type FormField = FieldMeta & {
  /** Keys from the configuration down to the setting. */
  path: string[];
  input: "text" | "number" | "flag" | "choice" | "list" | "pairs";
  required: boolean;
  choices?: string[];
  /** The value in use when it is not set. */
  default?: string | number | boolean;
};

type Def = {
  type: string;
  innerType?: z.ZodMiniType;
  shape?: Record<string, z.ZodMiniType>;
  entries?: Record<string, string>;
  defaultValue?: unknown;
};

const INPUTS: Record<string, FormField["input"]> = {
  string: "text",
  number: "number",
  boolean: "flag",
  enum: "choice",
  array: "list",
  record: "pairs",
};

/** The settings of a kind in their order, nested ones with their whole path. Throws for a setting without words. */
export function formFields(schema: z.ZodMiniType, path: string[] = []): FormField[] {
  const { meta, def, required, fallback } = unwrapped(schema);
  if (def.type === "object") {
    return Object.entries(def.shape!).flatMap(([key, setting]) => formFields(setting, [...path, key]));
  }
  const input = INPUTS[def.type];
  if (meta === undefined || input === undefined) throw new Error(`the setting ${path.join(".")} has no field()`);
  return [
    {
      ...meta,
      path,
      input,
      required,
      ...(def.entries === undefined ? {} : { choices: Object.values(def.entries) }),
      ...(fallback === undefined ? {} : { default: fallback as string }),
    },
  ];
}

function unwrapped(schema: z.ZodMiniType): {
  meta: FieldMeta | undefined;
  def: Def;
  required: boolean;
  fallback: unknown;
} {
  let at = schema;
  let meta = metaOf(at);
  let required = true;
  let fallback: unknown;
  for (;;) {
    const def = at._zod.def as Def;
    if (def.innerType === undefined) return { meta, def, required, fallback };
    required = false;
    if (def.type === "default") fallback = def.defaultValue;
    at = def.innerType;
    meta ??= metaOf(at);
  }
}
