import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { addressFilter, DEFAULT_ADDRESSES, parseNetworks } from "@/lib/platform/address-filter";

describe("addressFilter", () => {
  it.each([
    "169.254.169.254",
    "169.254.0.1",
    "[fe80::1]",
    "fe80::1%eth0",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "fd00:ec2::254",
    "168.63.129.16",
    "100.100.100.200",
  ])("refuses %s by default", (address) => {
    expect(() => DEFAULT_ADDRESSES.assertAllowed(address)).toThrow("PARKADE_REFUSED_ADDRESSES");
  });

  it.each(["127.0.0.1", "10.0.0.1", "[::1]", "fd00::1", "192.168.1.1", "8.8.8.8", "orders.example", "169.254"])(
    "lets %s pass by default",
    (host) => expect(() => DEFAULT_ADDRESSES.assertAllowed(host)).not.toThrow(),
  );

  it("lets nothing pass but what is allowed, and of that nothing that is refused", () => {
    const filter = addressFilter({
      refused: parseNetworks("10.1.0.0/16")!,
      allowed: parseNetworks("10.0.0.0/8, 127.0.0.1"),
    });
    for (const address of ["10.2.3.4", "127.0.0.1"]) expect(() => filter.assertAllowed(address)).not.toThrow();
    for (const address of ["10.1.2.3", "127.0.0.2", "8.8.8.8", "::1"])
      expect(() => filter.assertAllowed(address), address).toThrow();
  });

  it("checks what a name resolves to, and leaves out the addresses that are refused", async () => {
    const lookup = (refused: string) =>
      promisify(addressFilter({ refused: parseNetworks(refused)!, allowed: null }).lookup)("localhost", { family: 4 });
    await expect(lookup("127.0.0.0/8")).rejects.toMatchObject({ code: "ADDRESS_REFUSED" });
    await expect(lookup("::1")).resolves.toBe("127.0.0.1");
    // Numbers that the resolver of the system takes for an address.
    await expect(promisify(DEFAULT_ADDRESSES.lookup)("2852039166", { family: 4 })).rejects.toMatchObject({
      code: expect.stringMatching(/ADDRESS_REFUSED|ENOTFOUND/),
    });
  });

  it.each(["10.0.0.0/33", "10.0.0", "::1/129", "name", "10.0.0.0/8/8", "10.0.0.0/-1"])("takes no %j", (text) => {
    expect(parseNetworks(text)).toBeNull();
  });
});
