import { assertPermitted } from "@/lib/brokers/kinds/config-limits.shapes";
import { restoreMasked } from "@/lib/brokers/kinds/config-secrets.shapes";
import type { Config } from "@/lib/brokers/kinds/config-strings.pure";
import { KINDS, kindOf, parseSourceConfig, targetAddress } from "@/lib/brokers/kinds/kinds.shapes";
import type { ConfigLimits } from "@/lib/guard/redaction/secret-references.pure";
import { DomainError, type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";

type Stored = { kind: string; config: Config };

function destinationSettings(kind: string): readonly string[] {
  const known = KINDS.find((name) => name === kind);
  return known === undefined ? [] : kindOf(known).destination;
}

/** The configuration of a named target: the source's, with its destination replaced by the target's. */
export function configAt({ kind, config }: Stored, destination: Config): Record<string, unknown> {
  const own = destinationSettings(kind);
  return { ...Object.fromEntries(Object.entries(config).filter(([key]) => !own.includes(key))), ...destination };
}

/**
 * Checks the destination of a named target, with the connection of its source. `stored`: the destination before, from
 * which masked values are taken. Throws DomainError `invalid-config`, whose fields are paths such as
 * `destination.redriveTo.queue`.
 */
export function parseDestination(
  source: Stored,
  destination: Config,
  { stored, limits }: { stored: Config | null; limits: ConfigLimits },
): Record<string, unknown> {
  const settings = destinationSettings(source.kind);
  if (settings.length === 0)
    throw refused([
      { field: "destination", detail: `a ${source.kind} source sends back in place and has no other destination` },
    ]);
  const strange = Object.keys(destination).filter((key) => !settings.includes(key));
  if (strange.length > 0) {
    const detail = `does not belong to the destination of a ${source.kind} target: use ${settings.join(", ")}`;
    throw refused(strange.map((key) => ({ field: `destination.${key}`, detail })));
  }
  const parsed = underDestination(() => {
    const edited = restoreMasked(source.kind, destination, stored);
    const merged = parseSourceConfig(source.kind, configAt(source, edited));
    assertPermitted(merged, limits, configAt(source, stored ?? {}));
    return merged;
  });
  const config = parsed.config as Config;
  const own = Object.fromEntries(settings.filter((key) => config[key] !== undefined).map((key) => [key, config[key]]));
  if (Object.keys(own).length === 0 || targetAddress(parsed, "main") === null) {
    throw refused([{ field: "destination", detail: `must say where it delivers: set ${settings[0]}` }]);
  }
  return own;
}

function refused(fields: FieldError[]): DomainError {
  return invalidFields(fields, "invalid-config");
}

/** The checks of a configuration name `config.…`; the person who edits a target sees `destination.…`. */
function underDestination<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw refused(
      error.fields.map(({ field, detail }) => ({ field: field.replace(/^config\b/, "destination"), detail })),
    );
  }
}
