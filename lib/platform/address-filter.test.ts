import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { addressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import { parseNetworks } from "@/lib/platform/networks";

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

  it.each([
    "10.1.2.3",
    "::ffff:10.1.2.3",
    "::ffff:a01:203",
    "::ffff:0:a01:203",
    "::10.1.2.3",
    "64:ff9b::a01:203",
    "2002:a01:203::1",
    "2001:0:1234:5678:0:0:f5fe:fdfc",
  ])("refuses %s with 10.0.0.0/8, in whose place it is reached", (address) => {
    const filter = addressFilter({ refused: parseNetworks("10.0.0.0/8")!, allowed: null });
    expect(() => filter.assertAllowed(address)).toThrow("PARKADE_REFUSED_ADDRESSES");
    expect(() => filter.assertAllowed(address.replace(/a01:203|10\.1\.2\.3|f5fe:fdfc/, "0808:0808"))).not.toThrow();
  });

  it.each(["0.0.0.0", "::", "::1", "[::]"])("refuses %s with 127.0.0.0/8: it is the machine itself", (address) => {
    const filter = addressFilter({ refused: parseNetworks("127.0.0.0/8")!, allowed: null });
    expect(() => filter.assertAllowed(address)).toThrow("PARKADE_REFUSED_ADDRESSES");
    expect(() => DEFAULT_ADDRESSES.assertAllowed(address)).not.toThrow();
  });

  it("lets no form of IPv6 pass for an address of IPv4 that is allowed, but for the mapped one", () => {
    const filter = addressFilter({ refused: parseNetworks("")!, allowed: parseNetworks("10.0.0.0/8") });
    expect(() => filter.assertAllowed("::ffff:10.1.2.3")).not.toThrow();
    for (const address of ["64:ff9b::a01:203", "2002:a01:203::1", "::10.1.2.3"])
      expect(() => filter.assertAllowed(address), address).toThrow();
  });

  it("lets no host pass but the names that are listed, when it is said and when it is looked up", async () => {
    const filter = addressFilter({
      refused: parseNetworks("10.0.0.0/8")!,
      allowed: null,
      names: ["localhost", "*.example.com", "127.0.0.1", "10.0.0.1"],
      resolve: (_, __, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
    });
    for (const host of ["localhost", "LOCALHOST.", "a.example.com", "127.0.0.1"])
      expect(() => filter.assertAllowed(host), host).not.toThrow();
    for (const host of ["example.com", "a.example.com.evil.test", "127.0.0.2", "[::1]", "2130706433"])
      expect(() => filter.assertAllowed(host), host).toThrow("PARKADE_ALLOWED_TARGETS");
    expect(() => filter.assertAllowed("10.0.0.1")).toThrow("PARKADE_REFUSED_ADDRESSES");
    const lookup = promisify(filter.lookup);
    await expect(lookup("a.example.com", { family: 4 })).resolves.toBe("127.0.0.1");
    await expect(lookup("other.test", { family: 4 })).rejects.toMatchObject({ code: "ADDRESS_REFUSED" });
    // What a client looked up by itself stands for a name that was checked.
    expect(() => filter.assertAddress("127.0.0.9")).not.toThrow();
    expect(() => filter.assertAddress("10.0.0.9")).toThrow("PARKADE_REFUSED_ADDRESSES");
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
