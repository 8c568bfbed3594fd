import { expect, test } from "vitest";
import { addressKey } from "./address-key.pure";
import { isOpen } from "./sign-in-mode.pure";

const HERE = { address: "127.0.0.1", host: "localhost:3000", forwarded: false };

test.each([
  [HERE, true],
  [{ ...HERE, address: "::1", host: "[::1]:3000" }, true],
  [{ ...HERE, address: "::ffff:127.0.0.1", host: "127.0.0.1" }, true],
  [{ ...HERE, address: null }, false],
  [{ ...HERE, address: "172.17.0.1" }, false],
  [{ ...HERE, address: "127.0.0.1.example.com" }, false],
  [{ ...HERE, host: "parkade.example.com" }, false],
  [{ ...HERE, host: "localhost.example.com" }, false],
  [{ ...HERE, host: undefined }, false],
  [{ ...HERE, forwarded: true }, false],
])("with `elsewhere` %j needs no sign-in: %s", (origin, open) => {
  expect(isOpen("elsewhere", origin)).toBe(open);
  expect(isOpen("always", origin)).toBe(false);
  expect(isOpen("off", origin)).toBe(true);
});

test.each([
  [null, "unknown"],
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"],
  ["2001:0db8:0000:0001::5", "2001:db8:0:1::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("tries from %s are counted under %s", (address, key) => {
  expect(addressKey(address)).toBe(key);
});
