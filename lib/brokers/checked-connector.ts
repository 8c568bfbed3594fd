import { buildConnector } from "undici";
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
