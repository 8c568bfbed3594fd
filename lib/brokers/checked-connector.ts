import { Agent, buildConnector, fetch as undiciFetch } from "undici";
import type { AddressFilter } from "@/lib/platform/address-filter";

/** How undici connects, to no address that the filter refuses. */
export function checkedConnector(
  { assertAllowed, lookup }: AddressFilter,
  options: buildConnector.BuildOptions,
): buildConnector.connector {
  const connect = buildConnector({ ...options, lookup });
  return (target, callback) => {
    try {
      assertAllowed(target.hostname);
    } catch (error) {
      return callback(error as Error, null);
    }
    connect(target, callback);
  };
}

/** `fetch` that connects to no address that the filter refuses. The agent of one version of undici fits its own fetch alone. */
export function checkedFetch(addresses: AddressFilter, connectTimeoutMs: number): typeof globalThis.fetch {
  const dispatcher = new Agent({ connect: checkedConnector(addresses, { timeout: connectTimeoutMs }) });
  return ((url: URL, init: object) => undiciFetch(url, { ...init, dispatcher })) as unknown as typeof globalThis.fetch;
}
