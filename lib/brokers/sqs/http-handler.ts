import type { SQSClientConfig } from "@aws-sdk/client-sqs";
import { Agent, type Dispatcher } from "undici";
import { checkedConnector } from "@/lib/brokers/checked-connector";
import type { TlsSettings } from "@/lib/brokers/kinds/fields.shapes";
import type { OnPhase } from "@/lib/brokers/port";
import type { AddressFilter } from "@/lib/platform/address-filter";

/** Sockets per source: beyond it a request waits for one. */
const CONNECTIONS = 64;
const CONNECT_TIMEOUT_MS = 5_000;
/** Below the time after which servers close an idle connection, so that a request is rarely written into a closing one. */
const KEEP_ALIVE_MS = 4_000;
/** Beyond the 20 s of a long poll. Without an answer for this long the server counts as gone. */
const SILENCE_TIMEOUT_MS = 30_000;

/** What one request of the SDK looks like here. `query` is not there: the protocol of SQS has none. */
type Request = {
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
};

/** Passed with a command: the SDK hands its options on to the request. */
export type RequestOptions = { abortSignal?: AbortSignal; onPhase?: OnPhase };

type Answer = { statusCode: number; headers: Record<string, string>; body: Uint8Array };

/** Sends the SDK's requests by undici, whose `connected` phase proves that no byte was sent before it. `destroy` closes all connections. */
export function requestHandler(
  tls: TlsSettings | undefined,
  addresses: AddressFilter,
): NonNullable<SQSClientConfig["requestHandler"]> {
  const agent = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: checkedConnector(addresses, { timeout: CONNECT_TIMEOUT_MS, allowH2: false, ...tls }),
  });
  const handle = async (request: Request, options: RequestOptions) => ({
    response: await send(agent, request, options),
  });
  return { handle, destroy: () => void agent.destroy(), metadata: { handlerProtocol: "http/1.1" } };
}

function send(agent: Agent, request: Request, { abortSignal, onPhase }: RequestOptions): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  if (abortSignal?.aborted) return Promise.reject(abortSignal.reason);
  let controller: Dispatcher.DispatchController | null = null;
  const aborted = () => {
    reject(abortSignal!.reason);
    controller?.abort(new Error("given up"));
  };
  abortSignal?.addEventListener("abort", aborted, { once: true });
  const { protocol, hostname, port, path, method, headers, body } = request;
  const answer: Answer = { statusCode: 0, headers: {}, body: new Uint8Array() };
  const chunks: Buffer[] = [];
  agent.dispatch(
    {
      origin: `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`,
      path,
      method: method as Dispatcher.HttpMethod,
      headers,
      body: body ?? null,
      headersTimeout: SILENCE_TIMEOUT_MS,
      bodyTimeout: SILENCE_TIMEOUT_MS,
    },
    {
      onRequestStart: (started) => {
        controller = started;
        if (abortSignal?.aborted) started.abort(new Error("given up"));
        else onPhase?.("connected");
      },
      onResponseStart: (_, statusCode, received) => {
        if (answer.statusCode === 0) onPhase?.("answering");
        answer.statusCode = statusCode;
        answer.headers = Object.fromEntries(Object.entries(received).map(([name, value]) => [name, String(value)]));
      },
      onResponseData: (_, chunk) => void chunks.push(chunk),
      onResponseEnd: () => resolve({ ...answer, body: Buffer.concat(chunks) }),
      onResponseError: (_, error) => reject(error),
    },
  );
  return promise.finally(() => abortSignal?.removeEventListener("abort", aborted));
}
