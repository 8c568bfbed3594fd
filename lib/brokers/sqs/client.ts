import {
  type $Command,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  type QueueAttributeName,
  type ServiceInputTypes,
  type ServiceOutputTypes,
  SQSClient,
  type SQSClientConfig,
  type SQSClientResolvedConfig,
} from "@aws-sdk/client-sqs";
import type { AdapterDeps } from "@/lib/brokers/port";
import { SqsError, sqsError } from "@/lib/brokers/sqs/failure";
import { type RequestOptions, requestHandler } from "@/lib/brokers/sqs/http-handler";
import { regionOf, type SqsConfig } from "@/lib/brokers/sqs/kind.shapes";
import { type AddressFilter, DEFAULT_ADDRESSES } from "@/lib/platform/address-filter";

type Command<I extends ServiceInputTypes, O extends ServiceOutputTypes> = $Command<
  I,
  O,
  SQSClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes
>;

function clientConfig({ region, queue, endpoint, ...config }: SqsConfig, addresses: AddressFilter): SQSClientConfig {
  const { accessKeyId, secretAccessKey, sessionToken } = config;
  const found = region ?? regionOf(queue) ?? undefined;
  return {
    ...(found === undefined ? {} : { region: found }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(accessKeyId === undefined || secretAccessKey === undefined
      ? {}
      : { credentials: { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) } }),
    // The engine repeats sends and the park loop repeats reads: the SDK repeating too would multiply them.
    maxAttempts: 1,
    // Requests go to the region or the endpoint of the configuration, never to a host that the URL of a queue names.
    useQueueUrlAsEndpoint: false,
    requestHandler: requestHandler(config.tls, addresses),
  };
}

/** What SQS says of a queue, as far as the credentials may ask. */
export type QueueFacts = {
  /** Messages that are ready, handed out or delayed; approximate. */
  depth: number | null;
  /** Messages that are handed out; approximate. */
  inFlight: number;
  /** The dead-letter queue has a dead-letter queue of its own: SQS counts each delivery and moves a message at the limit. */
  countsDeliveries: boolean;
};

/** The requests of one source. A failed one rejects with SqsError, or with the reason of its signal. */
export class SqsQueues {
  readonly address: string;
  private readonly client: SQSClient;
  private readonly urls = new Map<string, Promise<string>>();

  constructor(config: SqsConfig, { addresses = DEFAULT_ADDRESSES }: Pick<AdapterDeps, "addresses">) {
    this.client = new SQSClient(clientConfig(config, addresses));
    const region = config.region ?? regionOf(config.queue);
    this.address = config.endpoint ?? (region === null ? "AWS" : `https://sqs.${region}.amazonaws.com`);
  }

  async send<I extends ServiceInputTypes, O extends ServiceOutputTypes>(
    command: Command<I, O>,
    queue: string,
    options: RequestOptions = {},
  ): Promise<O> {
    try {
      return await this.client.send(command, options);
    } catch (error) {
      options.abortSignal?.throwIfAborted();
      const name = command.constructor.name.replace(/Command$/, "");
      throw sqsError(error, { command: name, queue, address: this.address });
    }
  }

  /** The URL of a queue given by name or URL. Looked up once; a failed look-up is repeated. */
  urlOf(queue: string, options: Pick<RequestOptions, "abortSignal"> = {}): Promise<string> {
    if (URL.canParse(queue)) return Promise.resolve(queue);
    const known = this.urls.get(queue);
    if (known !== undefined) return known;
    const found = this.send(new GetQueueUrlCommand({ QueueName: queue }), queue, options).then((answer) => {
      if (answer.QueueUrl === undefined)
        throw new SqsError("SQS_NO_ANSWER", `${this.address} named no URL of ${queue}`);
      return answer.QueueUrl;
    });
    this.urls.set(queue, found);
    found.catch(() => this.urls.delete(queue));
    return found;
  }

  /** null: the queue is there, and these credentials may not read its attributes. */
  async factsOf(queue: string, options: Pick<RequestOptions, "abortSignal"> = {}): Promise<QueueFacts | null> {
    const QueueUrl = await this.urlOf(queue, options);
    const AttributeNames: QueueAttributeName[] = [
      "ApproximateNumberOfMessages",
      "ApproximateNumberOfMessagesNotVisible",
      "ApproximateNumberOfMessagesDelayed",
      "RedrivePolicy",
    ];
    try {
      const { Attributes = {} } = await this.send(
        new GetQueueAttributesCommand({ QueueUrl, AttributeNames }),
        queue,
        options,
      );
      const count = (name: QueueAttributeName) => Number(Attributes[name] ?? 0);
      const inFlight = count("ApproximateNumberOfMessagesNotVisible");
      return {
        depth: count("ApproximateNumberOfMessages") + count("ApproximateNumberOfMessagesDelayed") + inFlight,
        inFlight,
        countsDeliveries: Attributes.RedrivePolicy !== undefined,
      };
    } catch (error) {
      if (error instanceof SqsError && /^SQS_ACCESS_DENIED/.test(error.code)) return null;
      throw error;
    }
  }

  close(): void {
    this.client.destroy();
  }
}

/** A list in parts of ten, the most that one request of SQS takes. */
export function tens<T>(list: readonly T[]): T[][] {
  return Array.from({ length: Math.ceil(list.length / 10) }, (_, index) => list.slice(index * 10, index * 10 + 10));
}
