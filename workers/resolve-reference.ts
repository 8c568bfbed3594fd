import {
  boundElsewhere,
  mayReference,
  referenceIn,
  type SecretVariables,
  secretValue,
} from "@/lib/guard/redaction/secret-references.pure";
import { UnresolvedSecret } from "@/lib/observe/channels/send-alert";

/**
 * The secret that a reference in a channel stands for; any other text as it is. `host`: where it is sent. Throws UnresolvedSecret,
 * which does not repeat the value.
 */
export function resolveSecret(text: string, host: string, secrets: SecretVariables): string {
  const name = referenceIn(text);
  if (name === null) return text;
  const value = readReference(name, secrets);
  assertBound(name, host, secrets);
  return value;
}

/**
 * The same for an address that messages are sent to. `faultOf`: why they cannot be sent to the address, for a sentence after
 * "it"; null = they can. The error of a URL that cannot be used would repeat it.
 */
export function resolveAddress(
  text: string,
  secrets: SecretVariables,
  faultOf: (address: string) => string | null,
): string {
  const name = referenceIn(text);
  if (name === null) return text;
  const address = readReference(name, secrets);
  const fault = faultOf(address);
  if (fault !== null) throw new UnresolvedSecret(`${name} is not an address that messages can be sent to: it ${fault}`);
  assertBound(name, new URL(address).hostname, secrets);
  return address;
}

function readReference(name: string, secrets: SecretVariables): string {
  if (!mayReference(name, secrets.listed))
    throw new UnresolvedSecret(`${name} may not be read by a channel or a setting`);
  const value = secretValue(secrets, name);
  if (value === "") throw new UnresolvedSecret(`${name} is not set for the worker`);
  return value;
}

function assertBound(name: string, host: string, secrets: SecretVariables): void {
  const bound = boundElsewhere(name, [host], secrets);
  if (bound !== null) throw new UnresolvedSecret(`${name} may be sent only to ${bound}`);
}
