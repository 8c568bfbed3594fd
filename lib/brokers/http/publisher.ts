import type { Pool } from "undici";
import type { BatchedPublisher } from "@/lib/brokers/batched-publisher";
import { type Authorizer, authorizerOf } from "@/lib/brokers/http/access-token";
import { batchedPublisher } from "@/lib/brokers/http/batch";
import { poolFor, type Request, refusal, send, withAuthorization } from "@/lib/brokers/http/exchange";
import type { HttpConfig } from "@/lib/brokers/http/kind.shapes";
import { requestOf } from "@/lib/brokers/http/request";
import {
  type AdapterDeps,
  type OnPhase,
  type OutboundMessage,
  type ProbeResult,
  PublishError,
  type Publisher,
  type PublishReceipt,
} from "@/lib/brokers/port";
import { redactUrl } from "@/lib/guard/redaction/redact-url.shapes";
import { DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";

type HttpPublisherDeps = Pick<AdapterDeps, "clock" | "addresses">;

/** Posts to one URL over kept-alive HTTP/1.1 connections. */
export class HttpPublisher implements Publisher {
  private readonly batched: BatchedPublisher | null;
  private readonly config: HttpConfig;
  private readonly deps: HttpPublisherDeps;
  private readonly url: URL | null;
  private readonly address: string;
  private readonly path: string;
  private readonly authorizer: Authorizer | null;
  private readonly pool: Pool | null;

  constructor(config: HttpConfig, lane: "main" | "slow", deps: HttpPublisherDeps) {
    const address = (lane === "slow" ? config.slowLaneUrl : undefined) ?? config.redriveUrl;
    this.config = config;
    this.deps = deps;
    this.url = address === undefined ? null : new URL(address);
    this.address = address === undefined ? "" : redactUrl(address);
    this.path = this.url === null ? "/" : this.url.pathname + this.url.search;
    this.authorizer = this.url && authorizerOf(this.url, config, deps);
    this.pool = this.url === null ? null : poolFor(this.url, deps.addresses ?? DEFAULT_ADDRESSES, config.tls);
    const { pool, path, address: named, authorizer } = this;
    this.batched =
      pool && batchedPublisher({ pool, path, address: named, authorizer: authorizer! }, config, deps.clock);
  }

  async publish(message: OutboundMessage, signal: AbortSignal, onPhase?: OnPhase): Promise<PublishReceipt> {
    if (this.pool === null) throw new PublishError("HTTP_NO_TARGET", "the source has no redriveUrl", { sent: "no" });
    if (this.batched !== null) {
      // Before its place in a batch: nothing was sent of what waits for a token until its time is up.
      await this.authorizer!.authorization(signal, onPhase);
      return this.batched.publish(message, signal, onPhase);
    }
    const formed = requestOf(message, this.config, this.deps.clock.wallMs());
    const request: Request = { pool: this.pool, path: this.path, method: "POST", ...formed, onPhase };
    const authorized = (authorization: string | null) =>
      send({ ...request, headers: withAuthorization(formed.headers, authorization) }, this.address, signal);
    const answer = await this.authorizer!.send(authorized, signal, onPhase);
    if (answer.status >= 200 && answer.status < 300) {
      return { status: `HTTP ${answer.status}`, ...(answer.replayed ? { deduplicated: true } : {}) };
    }
    throw refusal(answer, this.address);
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    if (this.url === null) return { reachable: false, detail: "the source has no redriveUrl" };
    return probeUrl(this.url.href, this.config, { ...this.deps, authorizer: this.authorizer! }, signal);
  }

  async close(): Promise<void> {
    if (this.pool !== null && !this.pool.closed && !this.pool.destroyed) await this.pool.close();
  }
}

const PROBE_TIMEOUT_MS = 5_000;

/** Probes as a send would be authorized, with HEAD, which changes nothing. Any answer means reachable: 404 and 405 are usual where only POST is accepted. */
export async function probeUrl(
  target: string,
  config: HttpConfig,
  { clock, addresses = DEFAULT_ADDRESSES, authorizer }: HttpPublisherDeps & { authorizer?: Authorizer },
  signal: AbortSignal,
): Promise<ProbeResult> {
  signal.throwIfAborted();
  const url = new URL(target);
  const address = redactUrl(target);
  const pool = poolFor(url, addresses, config.tls);
  const late = new AbortController();
  const stopTimer = clock.timer(PROBE_TIMEOUT_MS, () => late.abort(new Error("probe timeout")));
  const fixed = Object.entries(config.headers ?? {}).flat();
  const authorizes = authorizer ?? authorizerOf(url, config, { clock, addresses });
  const ended = AbortSignal.any([signal, late.signal]);
  let asked = authorizes.address;
  try {
    const headers = withAuthorization(fixed, await authorizes.authorization(ended));
    asked = address;
    const request: Request = { pool, path: url.pathname + url.search, method: "HEAD", headers, body: null };
    const { status } = await send(request, address, ended);
    return { reachable: true, detail: `${address} answered ${status} to HEAD`, depth: null, sample: [] };
  } catch (error) {
    signal.throwIfAborted();
    if (late.signal.aborted)
      return { reachable: false, detail: `no answer from ${asked} in ${PROBE_TIMEOUT_MS / 1000} s` };
    return { reachable: false, detail: error instanceof Error ? error.message : String(error) };
  } finally {
    stopTimer();
    await pool.destroy();
  }
}
