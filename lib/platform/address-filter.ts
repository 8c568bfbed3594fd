import { type LookupAddress, type LookupAllOptions, type LookupOneOptions, lookup as resolveName } from "node:dns";
import { type BlockList, isIP, type LookupFunction, Socket } from "node:net";
import { matchesName } from "@/lib/platform/plain/host-names.pure";
import { isIn, parseNetworks } from "./networks";

/**
 * Addresses that sources and targets may not have, unless an operator says otherwise: link-local ones, and those at which
 * clouds answer a machine's credentials to whoever asks from it (AWS also on IPv6, Azure, Alibaba). A network of IPv4 stands for its
 * forms in IPv6 as well: see `embeddedAddresses`.
 */
export const REFUSED_BY_DEFAULT =
  "169.254.0.0/16 fe80::/10 fd00:ec2::254 168.63.129.16 100.100.100.200 64:ff9b:1::/48 2002:a9fe::/32";

/** The code of an address that may not be reached; nothing was sent to it. */
export const ADDRESS_REFUSED = "ADDRESS_REFUSED";

class AddressRefused extends Error {
  override readonly name = "AddressRefused";
  readonly code = ADDRESS_REFUSED;
}

/** Which addresses may be connected to. Asked for the address itself at each connect: a name may change its address. */
export type AddressFilter = {
  /**
   * Throws AddressRefused for a host that may not be reached: an IP address, or a name that PARKADE_ALLOWED_TARGETS does not list.
   * Any other name passes: its address is checked by `lookup`.
   */
  assertAllowed(host: string): void;
  /** The same for an address that a client has looked up by itself: the name that it stands for was checked before. */
  assertAddress(address: string): void;
  /** As that of node:dns, without the addresses that may not be reached; AddressRefused when no other is left. */
  lookup: LookupFunction;
};

type Resolve = (
  host: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, found: LookupAddress[]) => void,
) => void;

export type AddressRules = {
  refused: BlockList;
  /** When it is given, nothing else may be reached; `refused` counts within it, too. */
  allowed: BlockList | null;
  /** When they are given, no other host may be named: names, `*.example.com` for all below one, and IP addresses. */
  names?: readonly string[] | null;
  /** How names are looked up; the resolver of the system when it is left out. */
  resolve?: Resolve;
};

export function addressFilter({ refused, allowed, names = null, resolve = resolveName }: AddressRules): AddressFilter {
  const isAllowed = (address: string) => {
    const reached = [address, ...embeddedAddresses(address, isIP(address) as 4 | 6)];
    return !reached.some((one) => isIn(refused, one)) && (allowed === null || isIn(allowed, address));
  };
  const fault = (host: string, addresses: string[]) =>
    new AddressRefused(
      `${host} is ${host === addresses[0] ? "" : `${addresses.join(", ")}, `}an address that sources and targets must not use: see PARKADE_REFUSED_ADDRESSES and PARKADE_ALLOWED_ADDRESSES`,
    );
  const assertAddress = (text: string) => {
    const address = text.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
    if (isIP(address) !== 0 && !isAllowed(address)) throw fault(address, [address]);
  };
  const assertName = (host: string) => {
    if (names === null || matchesName(host, names)) return;
    throw new AddressRefused(`${host} is a host that sources and targets must not use: see PARKADE_ALLOWED_TARGETS`);
  };
  return {
    assertAllowed: (host) => {
      assertName(host);
      assertAddress(host);
    },
    assertAddress,
    lookup: (host, options, callback) => {
      try {
        assertName(host);
      } catch (error) {
        return callback(error as Error, "", 0);
      }
      resolve(host, { ...(options as LookupOneOptions), all: true } satisfies LookupAllOptions, (error, found) => {
        if (error) return callback(error, "", 0);
        const left = found.filter(({ address }) => isAllowed(address.replace(/%.*$/, "")));
        const [first] = left;
        if (first === undefined)
          return callback(
            fault(
              host,
              found.map(({ address }) => address),
            ),
            "",
            0,
          );
        if ((options as { all?: boolean }).all) callback(null, left);
        else callback(null, first.address, first.family);
      });
    },
  };
}

/** The refusal that an error is or wraps; null when it has another cause. */
export function addressRefusal(error: unknown): Error | null {
  let link = error;
  while (link instanceof Error) {
    if ((link as { code?: unknown }).code === ADDRESS_REFUSED) return link;
    link = link instanceof AggregateError ? link.errors[0] : link.cause;
  }
  return null;
}

/** A socket, for a client that takes one, which connects by `connect(port, host)` and checks the address itself. */
export function checkedSocket({ assertAllowed, lookup }: AddressFilter): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  const checked = (port: number, host: string | undefined) => {
    try {
      if (host === undefined) throw new AddressRefused(`${port} is a file: sources and targets need a host and port`);
      assertAllowed(host);
    } catch (error) {
      return socket.destroy(error as Error);
    }
    return connect({ port, host, lookup });
  };
  return Object.assign(socket, { connect: checked });
}

/** What applies where nobody has configured another. */
export const DEFAULT_ADDRESSES = addressFilter({ refused: parseNetworks(REFUSED_BY_DEFAULT)!, allowed: null });

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
function embeddedAddresses(address: string, family: 4 | 6): string[] {
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
