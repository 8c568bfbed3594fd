import { type Config, configFault, referencesIn, stringsIn, valueAt } from "@/lib/brokers/kinds/config-strings.pure";
import { isKind, roleAt, type SourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { isSecretHeader, plainAddressFault } from "@/lib/guard/redaction/redact-url.shapes";
import {
  type ConfigLimits,
  mayReference,
  PLAIN_SECRET_WORDS,
  referenceFault,
  referenceIn,
} from "@/lib/guard/redaction/secret-references.pure";
import { type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";

/**
 * Throws DomainError `invalid-config`, which names the fields, when a configuration names a variable that it may not.
 * `listed`: the names in PARKADE_ENV_REFERENCES. The answer is the same whether the variable exists or not.
 */
export function assertReferences({ config }: SourceConfig, listed: readonly string[]): void {
  refuse(
    referencesIn(config)
      .filter(({ name }) => !mayReference(name, listed))
      .map(({ path, name }) => configFault(path, referenceFault(name, "source"))),
  );
}

/**
 * Throws DomainError `invalid-config`, which names the fields, for a variable, a plain secret or an IP address that a source
 * may not have. The address of a name, or of a reference, is checked at each connect. `stored`: the configuration before;
 * null = there is none.
 */
export function assertPermitted(source: SourceConfig, limits: ConfigLimits, stored: Config | null): void {
  assertReferences(source, limits.envReferences);
  assertNoNewPlainSecret(source, limits, stored);
  const role = roleAt(source.kind);
  refuse(
    stringsIn(source.config)
      .filter(({ path }) => role(path) === "address")
      .flatMap(({ path, text }): FieldError[] => {
        try {
          for (const host of hostsIn(text)) limits.addresses.assertAllowed(host);
          return [];
        } catch (error) {
          return [configFault(path, (error as Error).message)];
        }
      }),
  );
}

/** Plain secrets that `stored` does not have at the same place or in the same list, each with the reason of its refusal. */
function newPlainSecrets(
  kind: string,
  config: Config,
  stored: Config | null,
): { path: readonly string[]; detail: string }[] {
  if (!isKind(kind)) return [];
  const role = roleAt(kind);
  return stringsIn(config).flatMap(({ path, text }) => {
    if (isStored(stored, path, text)) return [];
    const secretFault = role(path) === "secret" && isPlainSecret(path, text) ? PLAIN_SECRET_WORDS : null;
    const detail = role(path) === "address" ? plainAddressFault(text, null, "refuse") : secretFault;
    return detail === null ? [] : [{ path, detail }];
  });
}

/** An entry of a list moves when one before it comes or goes. */
function isStored(stored: Config | null, path: readonly string[], text: string): boolean {
  const parent = valueAt(stored, path.slice(0, -1));
  return Array.isArray(parent) ? parent.includes(text) : valueAt(stored, path) === text;
}

function isPlainSecret(path: readonly string[], text: string): boolean {
  if (text === "" || referenceIn(text) !== null) return false;
  return path[0] !== "headers" || isSecretHeader(path.at(-1)!, text);
}

/** Where a configuration, or the destination of a named target, has a secret that is no reference: `config.password`. */
export function plainSecretPlaces(kind: string, config: Config, root = "config"): string[] {
  return newPlainSecrets(kind, config, null).map(({ path }) => [root, ...path].join("."));
}

/**
 * Throws DomainError `invalid-config`, which names the fields, for a secret that is no reference where they are refused. One
 * that `stored` has at the same place stays: an older source can be edited.
 */
export function assertNoNewPlainSecret(
  { kind, config }: SourceConfig,
  { plainSecretMode }: Pick<ConfigLimits, "plainSecretMode">,
  stored: Config | null,
): void {
  if (plainSecretMode === "take") return;
  refuse(newPlainSecrets(kind, config, stored).map(({ path, detail }) => configFault(path, detail)));
}

/** The hosts that an address names: that of a URL, also in its query as PostgreSQL reads it, or that before a port. */
function hostsIn(address: string): string[] {
  const url = address.includes("://") && URL.canParse(address) ? new URL(address) : null;
  if (url === null) return [address.replace(/:\d+$/, "")];
  return [url.hostname, ...url.searchParams.getAll("host")];
}

function refuse(fields: FieldError[]): void {
  if (fields.length > 0) throw invalidFields(fields, "invalid-config");
}
