import { type BlockList, isIP } from "node:net";
import { isIn, parseNetworks } from "../lib/platform/networks.ts";
import { StartError } from "./start-error.ts";

/** What of a request may say where it comes from. */
export type Sender = {
  /** Address of the connection; empty = it has gone. */
  peer: string;
  /** X-Forwarded-For: several headers as one, with commas. */
  forwardedFor: string | undefined;
  /** Forwarded, RFC 7239, likewise. */
  forwarded: string | undefined;
};

/**
 * The address of the client. Only a peer that is a trusted proxy is believed: then it is the right-most address that is no trusted
 * proxy, since each proxy appends the one that it was asked from, and whatever stands left of it is the client's own words. What
 * cannot be read ends the walk at the proxy that wrote it. Where both headers are sent and disagree, one of them came from the client:
 * the address is the proxy's.
 */
export function clientAddress(
  { peer, forwardedFor, forwarded }: Sender,
  trusted: BlockList | null,
): { address: string; proxied: boolean } {
  const proxy = addressIn(peer);
  if (trusted === null || proxy === null || !isIn(trusted, proxy)) return { address: peer, proxied: false };
  const walk = (hops: (string | null)[]) => {
    let address = proxy;
    for (const hop of hops.reverse()) {
      if (hop === null) break;
      address = hop;
      if (!isIn(trusted, hop)) break;
    }
    return address;
  };
  const said = [
    ...(forwardedFor === undefined ? [] : [walk(forwardedFor.split(",").map(addressIn))]),
    ...(forwarded === undefined ? [] : [walk(forwarded.split(",").map(addressOfElement))]),
  ];
  const [first = proxy, second = first] = said;
  return { address: first === second ? first : proxy, proxied: true };
}

/** `for="[2001:db8::7]:4711";proto=https` */
function addressOfElement(element: string): string | null {
  const [, node] = /(?:^|;)\s*for\s*=\s*([^;]*)/i.exec(element) ?? [];
  return node === undefined ? null : addressIn(node.trim().replace(/^"(.*)"$/, "$1"));
}

/** An address with or without a port, in brackets or not; null = it is none, such as `unknown`. */
function addressIn(text: string): string | null {
  const plain = text.trim();
  const [, bracketed] = /^\[([^\]]+)\](?::\d{1,5})?$/.exec(plain) ?? [];
  const address = (bracketed ?? plain.replace(/^(\d[\d.]*):\d{1,5}$/, "$1"))
    .replace(/%.*$/, "")
    .replace(/^::ffff:(?=\d+\.\d)/i, "")
    .toLowerCase();
  return isIP(address) === 0 || (bracketed !== undefined && !bracketed.includes(":")) ? null : address;
}

/** Parses PARKADE_TRUSTED_PROXIES; null = none are trusted. Throws StartError. */
export function parseTrustedProxies(text: string | undefined): BlockList | null {
  if (!text?.trim()) return null;
  const networks = parseNetworks(text);
  if (networks !== null) return networks;
  throw new StartError(
    `PARKADE_TRUSTED_PROXIES is ${JSON.stringify(text)}: list addresses or networks such as 10.0.0.0/8 fd00::1.`,
  );
}
