import { BlockList, isIP } from "node:net";

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

/** @param address an IP address */
export function isIn(networks: BlockList, address: string): boolean {
  return networks.check(address, isIP(address) === 4 ? "ipv4" : "ipv6");
}
