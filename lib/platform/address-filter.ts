import { type LookupAllOptions, type LookupOneOptions, lookup as resolve } from "node:dns";
import { BlockList, isIP, type LookupFunction, Socket } from "node:net";

/**
 * Addresses that sources and targets may not have, unless an operator says otherwise: link-local ones, and those at which
 * clouds answer a machine's credentials to whoever asks from it (AWS also on IPv6, Azure, Alibaba; link-local ones written as IPv6).
 */
export const REFUSED_BY_DEFAULT =
  "169.254.0.0/16 fe80::/10 fd00:ec2::254 168.63.129.16 100.100.100.200 64:ff9b::a9fe:0/112 64:ff9b:1::/48 ::a9fe:0/112 2002:a9fe::/32";

/** The code of an address that may not be reached; nothing was sent to it. */
export const ADDRESS_REFUSED = "ADDRESS_REFUSED";

class AddressRefused extends Error {
  override readonly name = "AddressRefused";
  readonly code = ADDRESS_REFUSED;
}

/** Which addresses may be connected to. Asked for the address itself at each connect: a name may change its address. */
export type AddressFilter = {
  /** Throws AddressRefused for an IP address that may not be reached. A name passes: its address is checked by `lookup`. */
  assertAllowed(host: string): void;
  /** As that of node:dns, without the addresses that may not be reached; AddressRefused when no other is left. */
  lookup: LookupFunction;
};

/** Parses addresses and networks, `10.0.0.0/8 fd00::1`, separated by spaces or commas. null: one of them is neither. */
export function parseNetworks(text: string): BlockList | null {
  const networks = new BlockList();
  for (const part of text.split(/[\s,]+/).filter(Boolean)) {
    const [address = "", prefix, ...rest] = part.split("/");
    const family = isIP(address);
    const bitsMax = family === 4 ? 32 : 128;
    const bits = prefix === undefined ? bitsMax : /^\d{1,3}$/.test(prefix) ? Number(prefix) : -1;
    if (family === 0 || rest.length > 0 || bits < 0 || bits > bitsMax) return null;
    networks.addSubnet(address, bits, family === 4 ? "ipv4" : "ipv6");
  }
  return networks;
}

/** `allowed`: when it is given, nothing else may be reached; `refused` counts within it, too. */
export function addressFilter({ refused, allowed }: { refused: BlockList; allowed: BlockList | null }): AddressFilter {
  const isAllowed = (address: string) => {
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    return !refused.check(address, family) && (allowed === null || allowed.check(address, family));
  };
  const fault = (host: string, addresses: string[]) =>
    new AddressRefused(
      `${host} is ${host === addresses[0] ? "" : `${addresses.join(", ")}, `}an address that sources and targets may not have: see PARKADE_REFUSED_ADDRESSES and PARKADE_ALLOWED_ADDRESSES`,
    );
  return {
    assertAllowed: (host) => {
      const address = host.replace(/^\[|\]$/g, "").replace(/%.*$/, "");
      if (isIP(address) !== 0 && !isAllowed(address)) throw fault(address, [address]);
    },
    lookup: (host, options, callback) => {
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
      if (host === undefined) throw new AddressRefused(`${port} is a file: sources and targets have host and port`);
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
