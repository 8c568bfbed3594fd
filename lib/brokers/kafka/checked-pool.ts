import { isIP } from "node:net";
import { promisify } from "node:util";
import { type Base, type Broker, type Connection, NetworkError } from "@platformatic/kafka";
import { ADDRESS_REFUSED, type AddressFilter } from "@/lib/platform/address-filter";

type Callback = (error: Error | null, connection?: Connection) => void;

/**
 * The client, which now connects to no address that the filter refuses, whoever has named the broker. Every connection
 * comes from the client's pool. An encrypted one looks a name up by an option of TLS; for an open one the client has no such
 * option, so that the name is looked up here and the pool gets the address.
 */
export function checked<C extends Base>(client: C, { assertAllowed, lookup }: AddressFilter, encrypted: boolean): C {
  const pool = client.connections;
  const get = pool.get.bind(pool) as { (broker: Broker): Promise<Connection>; (broker: Broker, done: Callback): void };
  const getEstablished = pool.getEstablishedConnection.bind(pool);
  const addressesOf = promisify(lookup) as unknown as (host: string, options: object) => Promise<{ address: string }[]>;
  /** Where each broker with a name was last reached. */
  const reached = new Map<string, string>();
  const keyOf = ({ host, port }: Broker) => `${host}:${port}`;
  const placed = (broker: Broker) => ({ ...broker, host: reached.get(keyOf(broker)) ?? broker.host });

  async function connect(broker: Broker): Promise<Connection> {
    assertAllowed(broker.host);
    if (encrypted || isIP(broker.host.replace(/^\[|\]$/g, "")) !== 0) return await get(broker);
    let failure: unknown;
    for (const { address } of await addressesOf(broker.host, { all: true })) {
      try {
        const connection = await get({ ...broker, host: address });
        reached.set(keyOf(broker), address);
        return connection;
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }

  Object.assign(pool, {
    getEstablishedConnection: (broker: Broker) => getEstablished(placed(broker)),
    get: (broker: Broker, callback: Callback) => {
      // The client also asks for a broker that it does not know yet, and expects its own error.
      if (!broker?.host) return get(broker, callback);
      if (pool.has(placed(broker))) return get(placed(broker), callback);
      connect(broker).then(
        (connection) => callback(null, connection),
        (error) => callback(failureOf(error, broker)),
      );
    },
  });
  return client;
}

/** As the client says it: it knows no other errors. A refused address is refused again. */
function failureOf(error: Error, { host, port }: Broker): Error {
  if (error instanceof NetworkError || "findBy" in error) return error;
  const canRetry = (error as { code?: unknown }).code !== ADDRESS_REFUSED;
  return new NetworkError(`Connection to ${host}:${port} failed.`, { cause: error, canRetry });
}
