/** The eight numbers of an IPv6 address; its last two may be written as IPv4. The address must be valid. */
function groupsOf(address: string): number[] {
  // The parser of URLs writes every spelling in one form, without the dots of IPv4.
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const numbers = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  if (tail === undefined) return numbers(head);
  const [before, after] = [numbers(head), numbers(tail)];
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after];
}

const dotted = (high: number, low: number) => [high >> 8, high & 255, low >> 8, low & 255].join(".");
const isZero = (groups: readonly number[]) => groups.every((group) => group === 0);

/**
 * The IPv4 addresses that a packet to this address may reach: it is IPv4 in the form of IPv6 (mapped, translated, compatible), or a
 * gateway puts the one of NAT64, 6to4 or Teredo in its place. The unspecified address reaches the machine itself. Empty = none.
 */
export function embeddedAddresses(address: string, family: 4 | 6): string[] {
  if (family === 4) return /^0\./.test(address) ? ["127.0.0.1"] : [];
  const groups = groupsOf(address);
  const [first, second, third, , fifth, sixth] = groups as [number, number, number, number, number, number];
  const last = dotted(groups[6]!, groups[7]!);
  if (isZero(groups)) return ["127.0.0.1"];
  if (isZero(groups.slice(0, 6))) return last === "0.0.0.1" ? ["127.0.0.1"] : [last];
  if (isZero(groups.slice(0, 5)) && sixth === 0xffff) return [last];
  if (isZero(groups.slice(0, 4)) && fifth === 0xffff && sixth === 0) return [last];
  if (first === 0x64 && second === 0xff9b && (third === 0 || third === 1)) return [last];
  if (first === 0x2002) return [dotted(second, third)];
  if (first === 0x2001 && second === 0) return [dotted(groups[6]! ^ 0xffff, groups[7]! ^ 0xffff)];
  return [];
}
