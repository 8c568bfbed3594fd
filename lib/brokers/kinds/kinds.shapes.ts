import * as z from "zod/mini";
import { amqp10 } from "@/lib/brokers/amqp10/kind.shapes";
import { bullmq } from "@/lib/brokers/bullmq/kind.shapes";
import { celery } from "@/lib/brokers/celery/kind.shapes";
import { http } from "@/lib/brokers/http/kind.shapes";
import { kafka } from "@/lib/brokers/kafka/kind.shapes";
import { badReferences, referencesIn } from "@/lib/brokers/kinds/config-strings.pure";
import { formFields, type KindDescriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import { type FieldMeta, type Mapping, mapping } from "@/lib/brokers/kinds/fields.shapes";
import { nats } from "@/lib/brokers/nats/kind.shapes";
import { outbox } from "@/lib/brokers/outbox/kind.shapes";
import { pubsub } from "@/lib/brokers/pubsub/kind.shapes";
import { rabbitmq } from "@/lib/brokers/rabbitmq/kind.shapes";
import { redisStreams } from "@/lib/brokers/redis-streams/kind.shapes";
import { sidekiq } from "@/lib/brokers/sidekiq/kind.shapes";
import { sqs } from "@/lib/brokers/sqs/kind.shapes";
import { DomainError, type FieldError } from "@/lib/platform/plain/problem.pure";

/**
 * Every kind of source, in the order in which people see them. A kind is its descriptor here and its adapter in
 * lib/brokers/<kind>; the registry, the API, the forms and the docs are made of this table.
 */
const DESCRIPTORS = {
  http,
  rabbitmq,
  kafka,
  sqs,
  pubsub,
  nats,
  "redis-stream": redisStreams,
  amqp10,
  bullmq,
  outbox,
  sidekiq,
  celery,
};

export type Kind = keyof typeof DESCRIPTORS;
export type ConfigOf<K extends Kind> = z.infer<(typeof DESCRIPTORS)[K]["config"]>;
export type SourceConfig = { [K in Kind]: { kind: K; config: ConfigOf<K> } }[Kind];

export const KINDS = Object.keys(DESCRIPTORS) as Kind[];

export function kindOf(kind: Kind): KindDescriptor {
  return DESCRIPTORS[kind] as unknown as KindDescriptor;
}

export function isKind(kind: string): kind is Kind {
  return Object.hasOwn(DESCRIPTORS, kind);
}

type Role = NonNullable<FieldMeta["role"]>;

/** The role of the setting at each path of a kind; entries of a list or a table have the role of their setting. */
function rolesOf(kind: Kind): (path: readonly string[]) => Role | undefined {
  const fields = formFields(kindOf(kind).config).filter(({ role }) => role !== undefined);
  const roles = new Map(fields.map(({ path, role }) => [path.join("."), role!]));
  return (path) => roles.get(path.join(".")) ?? roles.get(path.slice(0, -1).join("."));
}

const ROLES = Object.fromEntries(KINDS.map((kind) => [kind, rolesOf(kind)])) as Record<
  Kind,
  ReturnType<typeof rolesOf>
>;

/** See `rolesOf`. A row of a kind that this version does not know shows nothing. */
export function roleAt(kind: string): (path: readonly string[]) => Role | undefined {
  return isKind(kind) ? ROLES[kind] : () => "secret";
}

function fieldErrors(error: z.core.$ZodError): FieldError[] {
  return error.issues.flatMap((issue) => {
    const path = (tail: PropertyKey[]) => [...issue.path, ...tail].join(".");
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({ field: path([key]), detail: "is not a setting of this kind" }));
    return { field: path([]), detail: issue.message };
  });
}

/** Throws DomainError `invalid-config` with fields such as `config.url`; no message repeats a value. */
export function parseSourceConfig(kind: string, config: unknown): SourceConfig {
  if (!isKind(kind)) {
    const detail = `is not a kind of source: use one of ${KINDS.join(", ")}`;
    throw new DomainError("invalid-config", `kind ${JSON.stringify(kind.slice(0, 40))} ${detail}`, {
      fields: [{ field: "kind", detail }],
    });
  }
  const parsed = z.object({ config: kindOf(kind).config }).safeParse({ config: config ?? {} });
  if (parsed.success) {
    // The kind and the type of its configuration go together, which only the table knows.
    const source = { kind, config: parsed.data.config } as SourceConfig;
    const misplaced = referencesIn(source.config).filter(({ path }) => ROLES[kind](path) === undefined);
    if (misplaced.length === 0) return source;
    const takers = formFields(kindOf(kind).config).filter(({ role }) => role !== undefined);
    const names = takers.map(({ path }) => path.join(".")).join(", ");
    throw badReferences(misplaced, `contains env:NAME, which is supported only in ${names}: enter the value itself`);
  }
  const fields = fieldErrors(parsed.error);
  throw new DomainError("invalid-config", `the configuration of this ${kind} source is not valid`, { fields });
}

/** Checks a mapping alone; its paths are those of a configuration: `config.mapping.tags`. Throws `invalid-config`. */
export function parseMapping(value: unknown): Mapping {
  const parsed = z.object({ config: z.object({ mapping }) }).safeParse({ config: { mapping: value } });
  if (parsed.success) return parsed.data.config.mapping ?? {};
  throw new DomainError("invalid-config", "the mapping is not valid", { fields: fieldErrors(parsed.error) });
}

/**
 * Where a target delivers, for display: no secrets. A named target, whose lane is null, has its destination in place of
 * the source's main one. null: nowhere, redrives are refused as `no-target`.
 */
export function targetAddress({ kind, config }: SourceConfig, lane: "main" | "slow" | null): string | null {
  return kindOf(kind).address(config, lane ?? "main");
}
