import { describe, expect, test } from "vitest";
import { parseNetworks } from "../lib/platform/networks.ts";
import { clientAddress, parseTrustedProxies } from "./client-address.ts";

const TRUSTED = parseNetworks("10.0.0.0/8, 127.0.0.1 fd00::/8")!;
const of = (peer: string, forwardedFor?: string, forwarded?: string) =>
  clientAddress({ peer, forwardedFor, forwarded }, TRUSTED).address;

describe("the address of the client is", () => {
  test.each([
    ["the peer's, when it is no trusted proxy, whatever it says", "192.0.2.7", "203.0.113.9", "192.0.2.7"],
    ["the peer's, when it says nothing", "10.0.0.1", undefined, "10.0.0.1"],
    ["what a trusted proxy says", "10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["what a trusted proxy says that connects by IPv6", "::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["what the last of several proxies was asked from", "10.0.0.1", "203.0.113.9, 10.1.1.1,10.2.2.2", "203.0.113.9"],
    ["not what the client puts in front", "10.0.0.1", "127.0.0.1, 198.51.100.4, 203.0.113.9, 10.1.1.1", "203.0.113.9"],
    ["not a trusted address that the client puts in front", "10.0.0.1", "10.9.9.9, 203.0.113.9", "203.0.113.9"],
    ["the left-most, when all are trusted", "10.0.0.1", "10.3.3.3, 10.2.2.2", "10.3.3.3"],
    ["without the port", "10.0.0.1", "203.0.113.9:4711", "203.0.113.9"],
    ["of IPv6", "fd00::1", "2001:DB8::7", "2001:db8::7"],
    ["of IPv6 in brackets with a port", "fd00::1", "[2001:db8::7]:4711", "2001:db8::7"],
    ["of IPv6 without its zone", "fd00::1", "fe80::7%eth0", "fe80::7"],
    ["of IPv4 in IPv6", "10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"],
    ["the proxy's, when nothing stands there", "10.0.0.1", "", "10.0.0.1"],
    ["the proxy's, when the last is empty", "10.0.0.1", "203.0.113.9,", "10.0.0.1"],
    ["the proxy's, when it says unknown", "10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"],
    ["that of the proxy that wrote what is no address", "10.0.0.1", "<script>, 10.2.2.2", "10.2.2.2"],
    ["no number", "10.0.0.1", "3405803785", "10.0.0.1"],
    ["no address with more behind it", "10.0.0.1", "203.0.113.9 x", "10.0.0.1"],
    ["no IPv4 in brackets", "10.0.0.1", "[203.0.113.9]", "10.0.0.1"],
    ["unknown, when the connection has gone", "", "203.0.113.9", ""],
  ])("%s", (_, peer, forwardedFor, expected) => {
    expect(of(peer, forwardedFor)).toBe(expected);
  });

  test.each([
    ["for=203.0.113.9", "203.0.113.9"],
    ['For="[2001:db8::7]:4711";proto=https;by=10.0.0.1', "2001:db8::7"],
    ["proto=https; for=203.0.113.9:4711", "203.0.113.9"],
    ["for=127.0.0.1, for=203.0.113.9, for=10.2.2.2", "203.0.113.9"],
    ['for="127.0.0.1, for=203.0.113.9', "203.0.113.9"],
    ["for=_hidden", "10.0.0.1"],
    ["proto=https", "10.0.0.1"],
    ["by=203.0.113.9", "10.0.0.1"],
    ["xfor=203.0.113.9", "10.0.0.1"],
  ])("by Forwarded: %s: %s", (forwarded, expected) => {
    expect(of("10.0.0.1", undefined, forwarded)).toBe(expected);
  });

  test("the proxy's where both headers are sent and disagree: one of them is the client's", () => {
    expect(of("10.0.0.1", "203.0.113.9", "for=127.0.0.1")).toBe("10.0.0.1");
    expect(of("10.0.0.1", "203.0.113.9", "for=203.0.113.9")).toBe("203.0.113.9");
  });

  test("the peer's where no proxy is trusted", () => {
    const sender = { peer: "10.0.0.1", forwardedFor: "203.0.113.9", forwarded: undefined };
    expect(clientAddress(sender, parseTrustedProxies(""))).toEqual({ address: "10.0.0.1", proxied: false });
  });
});

test("a request of a trusted proxy is passed on, also when the proxy says nothing of it", () => {
  for (const forwardedFor of [undefined, "203.0.113.9", "127.0.0.1"])
    expect(clientAddress({ peer: "127.0.0.1", forwardedFor, forwarded: undefined }, TRUSTED).proxied).toBe(true);
});

test.each(["10.0.0.0/33", "proxy.example.com", "10.0.0.1:80"])("PARKADE_TRUSTED_PROXIES=%s is refused", (text) => {
  expect(() => parseTrustedProxies(text)).toThrow(/PARKADE_TRUSTED_PROXIES is .*10\.0\.0\.0\/8/);
});
