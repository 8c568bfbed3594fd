import { assertReferences } from "@/lib/brokers/kinds/config-limits.shapes";
import {
  badReferences,
  type Config,
  configFault,
  mapStrings,
  referencesIn,
  stringsIn,
  valueAt,
} from "@/lib/brokers/kinds/config-strings.pure";
import { parseSourceConfig, roleAt, type SourceConfig } from "@/lib/brokers/kinds/kinds.shapes";
import { headerSecrets, isSecretHeader, MASK, redactUrl, urlSecrets } from "@/lib/guard/redaction/redact-url.shapes";
import {
  boundElsewhere,
  referenceIn,
  type SecretVariables,
  secretValue,
} from "@/lib/guard/redaction/secret-references.pure";
import { type FieldError, invalidFields } from "@/lib/platform/plain/problem.pure";

/**
 * The configuration with every `env:NAME` replaced, to be used at once and not kept, and the texts that nobody may see:
 * what the references stood for, and the credentials beside them. Throws DomainError `invalid-config` naming the field
 * whose variable may not be read, is not set, or held something else.
 */
export function resolveSecrets(
  source: SourceConfig,
  given: SecretVariables,
): { source: SourceConfig; secrets: string[] } {
  assertReferences(source, given.listed);
  const role = roleAt(source.kind);
  const secrets: string[] = [];
  const resolved = mapStrings(source.config, (text, path) => {
    const name = referenceIn(text);
    const value = name === null ? text : secretValue(given, name);
    // An empty text that is no reference stands for itself: the prefix of a signature may be none.
    if (name !== null && value === "") {
      throw badReferences(
        [{ path, name }],
        `names ${name}, which is not set: set it for web and worker, or change the field`,
      );
    }
    if (name !== null) secrets.push(value);
    if (role(path) === "address") secrets.push(...urlSecrets(value));
    if (role(path) === "secret" && (name !== null || path[0] !== "headers" || isSecretHeader(path.at(-1)!, value)))
      secrets.push(...headerSecrets(value));
    return value;
  });
  const whole = parseSourceConfig(source.kind, resolved);
  assertBound(source, hostsOf(whole), given);
  return { source: whole, secrets };
}

/** Throws DomainError `invalid-config` for a secret that is bound to other hosts than the source names. */
function assertBound({ config }: SourceConfig, hosts: readonly string[], given: SecretVariables): void {
  for (const { path, name } of referencesIn(config)) {
    const bound = boundElsewhere(name, hosts, given);
    if (bound === null) continue;
    throw badReferences(
      [{ path, name }],
      `names ${name}, which may be sent only to ${bound}: change the address or the field`,
    );
  }
}

/**
 * The configuration as it may leave the server: references stay, credentials in addresses and secrets are masked.
 */
export function redactConfig(kind: string, config: Config): Record<string, unknown> {
  const role = roleAt(kind);
  return mapStrings(config, (text, path) => {
    if (referenceIn(text) !== null) return text;
    if (role(path) === "secret") return MASK;
    return role(path) === "address" ? redactUrl(text) : text;
  });
}

/**
 * An edited configuration with the values that came back masked, as `redactConfig` shows them, put back from the
 * stored one. So a form may send back what it was given. Credentials stay with the server they were typed for: throws
 * DomainError `invalid-config`, naming each field that must be typed again, when an address has another scheme, host or
 * port than every stored one, or was edited around its mask, and when a list lost entries, of which the masks do not tell.
 * `stored` is null for a new configuration: a mask in it, copied from what was shown of another, stands for nothing.
 */
export function restoreMasked(kind: string, edited: Config, stored: Config | null): Record<string, unknown> {
  const role = roleAt(kind);
  const shown = redactConfig(kind, stored ?? {});
  const known = new Set(serversOf(kind, stored ?? {}));
  const moved = stored !== null && serversOf(kind, edited).some((server) => !known.has(server));
  const lost: FieldError[] = [];
  const restored = mapStrings(edited, (text, path) => {
    if (!text.includes(MASK)) return text;
    const before = valueAt(stored, path);
    const isSecret = role(path) === "secret";
    const [list, storedList] = [edited, stored].map((root) => valueAt(root, path.slice(0, -1)));
    // The masks of a list look alike: of a shorter list nobody knows which entries are left.
    const isShorter = Array.isArray(list) && Array.isArray(storedList) && list.length < storedList.length;
    if (text === valueAt(shown, path) && typeof before === "string" && !isShorter && !(isSecret && moved))
      return before;
    if (role(path) === undefined) return text;
    const detail = !isSecret
      ? "contains ***, which stands for a hidden value: enter the whole address again"
      : moved
        ? "is masked, and the address has changed: enter the value again, since it is not sent to a different server"
        : stored === null
          ? "is masked: enter the value, or env:NAME with the name of its variable"
          : "is masked, and could stand for several values: enter the value again";
    lost.push(configFault(path, detail));
    return text;
  });
  if (lost.length > 0) throw invalidFields(lost, "invalid-config");
  return restored;
}

/** Scheme, host and port of each address, or the text that stands for one. */
function serversOf(kind: string, config: Config): string[] {
  const role = roleAt(kind);
  return stringsIn(config)
    .filter(({ path, text }) => role(path) === "address" && text !== "")
    .map(({ text }) => {
      const url = URL.canParse(text) ? new URL(text) : null;
      return url === null || url.host === "" ? text : `${url.protocol}//${url.host}`;
    });
}

/** The names or IP addresses of the servers in a configuration whose secrets are resolved. */
export function hostsOf({ kind, config }: SourceConfig): string[] {
  return serversOf(kind, config).flatMap((server) => {
    if (server.includes("://")) return [new URL(server).hostname];
    return [server.replace(/:\d+$/, "")];
  });
}
