/** As names are compared: lower case, without the brackets of IPv6, and without the dot that ends a full name. */
const plain = (host: string) =>
  host
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");

/** Letters, digits and hyphens between dots, `*.` in front for every name below; or an IP address. */
const PATTERN =
  /^(?:(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?|[0-9a-f:]*:[0-9a-f:.]*)$/;

/** Parses names separated by blanks or commas. null: one of them is no name. */
export function parseHostNames(text: string): string[] | null {
  const names = text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map(plain);
  // A star stands for names, and never for a part of an address.
  return names.every((name) => PATTERN.test(name) && !/^\*\..*\.\d+$/.test(name)) ? names : null;
}

/** `*.example.com` is every name below example.com, and not example.com itself. */
export function matchesName(host: string, names: readonly string[]): boolean {
  const name = plain(host);
  return names.some((pattern) => (pattern.startsWith("*.") ? name.endsWith(pattern.slice(1)) : name === pattern));
}
