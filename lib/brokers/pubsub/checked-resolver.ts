import type { LookupAddress } from "node:dns";
import { type ChannelOptions, experimental, Metadata, status } from "@grpc/grpc-js";
import type { AdapterDeps } from "@/lib/brokers/port";
import { ADDRESS_REFUSED, type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";
import type { Clock } from "@/lib/platform/clock";

const SCHEME = "checked";
const [LOOKUP, CLOCK] = ["parkade.lookup", "parkade.clock"];
/** Between two look-ups of a name. */
const PAUSE_MS = 1_000;

/** What gRPC connects to: the addresses that the filter leaves, asked for at each connection. */
class CheckedResolver implements experimental.Resolver {
  private readonly listener: experimental.ResolverListener;
  private readonly lookup: AddressFilter["lookup"];
  private readonly clock: Clock;
  private readonly host: string;
  private readonly port: number;
  /** Ends the present resolution, and the pause after it; null = neither. */
  private stop: (() => void) | null = null;
  private isWanted = false;

  static getDefaultAuthority({ path }: experimental.GrpcUri): string {
    return path;
  }

  constructor({ path }: experimental.GrpcUri, listener: experimental.ResolverListener, options: ChannelOptions) {
    this.listener = listener;
    this.lookup = options[LOOKUP];
    this.clock = options[CLOCK];
    const { host, port = 443 } = experimental.splitHostPort(path)!;
    this.host = host;
    this.port = port;
  }

  /** gRPC asks for the addresses of a server that is gone again at once, and as often as it is answered. */
  updateResolution(): void {
    this.isWanted = this.stop !== null;
    if (this.isWanted) return;
    let isStopped = false;
    this.stop = () => {
      isStopped = true;
    };
    this.lookup(this.host, { all: true }, (error, found) => {
      if (isStopped) return;
      this.stop = this.clock.timer(PAUSE_MS, () => {
        this.stop = null;
        if (this.isWanted) this.updateResolution();
      });
      const { port } = this;
      const answer: experimental.StatusOr<experimental.Endpoint[]> =
        error === null
          ? experimental.statusOrFromValue(
              (found as LookupAddress[]).map(({ address }) => ({ addresses: [{ host: address, port }] })),
            )
          : experimental.statusOrFromError({
              code: status.UNAVAILABLE,
              details: detailsOf(error),
              metadata: new Metadata(),
            });
      this.listener(answer, {}, null, "");
    });
  }

  destroy(): void {
    this.stop?.();
    this.stop = null;
    this.isWanted = false;
  }
}

/** gRPC hands on a failure as a text alone: see `pubsubFault`. */
function detailsOf(error: NodeJS.ErrnoException): string {
  return error.code === ADDRESS_REFUSED ? error.message : `Name resolution failed: ${error.code}`;
}

experimental.registerResolver(SCHEME, CheckedResolver);

/** What a client is made with: the address of a server, whose name is looked up by the filter, and the options for it. */
export function checkedTarget(
  authority: string,
  { addresses = DEFAULT_ADDRESSES, clock }: Pick<AdapterDeps, "addresses" | "clock">,
): [target: string, ChannelOptions] {
  return [`${SCHEME}:${authority}`, { [LOOKUP]: addresses.lookup, [CLOCK]: clock }];
}
