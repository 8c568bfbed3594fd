import type { MethodDefinition } from "@grpc/grpc-js";
import protobuf, { type INamespace } from "protobufjs/light.js";

type Field = { type: string; id: number; rule?: "repeated"; keyType?: string };
const message = (fields: Record<string, Field>) => ({ fields });
const text = (id: number): Field => ({ type: "string", id });
const texts = (id: number): Field => ({ type: "string", id, rule: "repeated" });

/** The parts of Google's definitions that are used here. https://github.com/googleapis/googleapis, google/pubsub/v1/pubsub.proto */
const DEFINITIONS: INamespace = {
  nested: {
    Timestamp: message({ seconds: { type: "int64", id: 1 }, nanos: { type: "int32", id: 2 } }),
    PubsubMessage: message({
      data: { type: "bytes", id: 1 },
      attributes: { type: "string", id: 2, keyType: "string" },
      messageId: text(3),
      publishTime: { type: "Timestamp", id: 4 },
      orderingKey: text(5),
    }),
    PublishRequest: message({ topic: text(1), messages: { type: "PubsubMessage", id: 2, rule: "repeated" } }),
    PublishResponse: message({ messageIds: texts(1) }),
    GetTopicRequest: message({ topic: text(1) }),
    Topic: message({ name: text(1) }),
    GetSubscriptionRequest: message({ subscription: text(1) }),
    DeadLetterPolicy: message({ deadLetterTopic: text(1), maxDeliveryAttempts: { type: "int32", id: 2 } }),
    PushConfig: message({ pushEndpoint: text(1) }),
    Subscription: message({
      name: text(1),
      topic: text(2),
      pushConfig: { type: "PushConfig", id: 4 },
      ackDeadlineSeconds: { type: "int32", id: 5 },
      deadLetterPolicy: { type: "DeadLetterPolicy", id: 13 },
    }),
    PullRequest: message({ subscription: text(1), maxMessages: { type: "int32", id: 3 } }),
    ReceivedMessage: message({
      ackId: text(1),
      message: { type: "PubsubMessage", id: 2 },
      deliveryAttempt: { type: "int32", id: 3 },
    }),
    PullResponse: message({ receivedMessages: { type: "ReceivedMessage", id: 1, rule: "repeated" } }),
    AcknowledgeRequest: message({ subscription: text(1), ackIds: texts(2) }),
    ModifyAckDeadlineRequest: message({
      subscription: text(1),
      ackDeadlineSeconds: { type: "int32", id: 3 },
      ackIds: texts(4),
    }),
    Empty: message({}),
    TestIamPermissionsRequest: message({ resource: text(1), permissions: texts(2) }),
    TestIamPermissionsResponse: message({ permissions: texts(1) }),
    // What a failed request says beside its code.
    Any: message({ typeUrl: text(1), value: { type: "bytes", id: 2 } }),
    Status: message({ code: { type: "int32", id: 1 }, details: { type: "Any", id: 3, rule: "repeated" } }),
    ErrorInfo: message({ reason: text(1), metadata: { type: "string", id: 3, keyType: "string" } }),
  },
};

const ROOT = protobuf.Root.fromJSON(DEFINITIONS);

export type PubsubMessage = {
  data: Buffer;
  attributes: Record<string, string>;
  messageId: string;
  publishTime: { seconds: string; nanos: number } | null;
  orderingKey: string;
};
export type ReceivedMessage = { ackId: string; message: PubsubMessage | null; deliveryAttempt: number };
export type Subscription = {
  name: string;
  topic: string;
  pushConfig: { pushEndpoint: string } | null;
  deadLetterPolicy: { deadLetterTopic: string } | null;
};

export type Methods = {
  Publish: [
    { topic: string; messages: Pick<PubsubMessage, "data" | "attributes" | "orderingKey">[] },
    { messageIds: string[] },
  ];
  GetTopic: [{ topic: string }, { name: string }];
  GetSubscription: [{ subscription: string }, Subscription];
  Pull: [{ subscription: string; maxMessages: number }, { receivedMessages: ReceivedMessage[] }];
  Acknowledge: [{ subscription: string; ackIds: string[] }, object];
  ModifyAckDeadline: [{ subscription: string; ackIds: string[]; ackDeadlineSeconds: number }, object];
  TestIamPermissions: [{ resource: string; permissions: string[] }, { permissions: string[] }];
};
export type Method = keyof Methods;

const SERVICES: Record<Method, [service: string, request: string, response: string]> = {
  Publish: ["google.pubsub.v1.Publisher", "PublishRequest", "PublishResponse"],
  GetTopic: ["google.pubsub.v1.Publisher", "GetTopicRequest", "Topic"],
  GetSubscription: ["google.pubsub.v1.Subscriber", "GetSubscriptionRequest", "Subscription"],
  Pull: ["google.pubsub.v1.Subscriber", "PullRequest", "PullResponse"],
  Acknowledge: ["google.pubsub.v1.Subscriber", "AcknowledgeRequest", "Empty"],
  ModifyAckDeadline: ["google.pubsub.v1.Subscriber", "ModifyAckDeadlineRequest", "Empty"],
  TestIamPermissions: ["google.iam.v1.IAMPolicy", "TestIamPermissionsRequest", "TestIamPermissionsResponse"],
};

function decode(type: string, bytes: Uint8Array): unknown {
  const found = ROOT.lookupType(type);
  // 64-bit numbers as text, so that none is rounded; absent fields as their defaults.
  return found.toObject(found.decode(bytes), { longs: String, defaults: true });
}

export function methodOf<M extends Method>(name: M): MethodDefinition<Methods[M][0], Methods[M][1]> {
  const [service, request, response] = SERVICES[name];
  const asked = ROOT.lookupType(request);
  return {
    path: `/${service}/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (value) => Buffer.from(asked.encode(asked.fromObject(value)).finish()),
    requestDeserialize: (bytes) => decode(request, bytes) as Methods[M][0],
    responseSerialize: (value) => {
      const answered = ROOT.lookupType(response);
      return Buffer.from(answered.encode(answered.fromObject(value)).finish());
    },
    responseDeserialize: (bytes) => decode(response, bytes) as Methods[M][1],
  };
}

/** What Google says of single acknowledgement ids: of a subscription with exactly-once delivery, by `grpc-status-details-bin`. */
export function errorInfosIn(status: Uint8Array): Record<string, string>[] {
  try {
    const { details } = decode("Status", status) as { details: { typeUrl: string; value: Uint8Array }[] };
    return details
      .filter(({ typeUrl }) => typeUrl.endsWith("/google.rpc.ErrorInfo"))
      .map(({ value }) => (decode("ErrorInfo", value) as { metadata: Record<string, string> }).metadata);
  } catch {
    return []; // an answer without details says nothing of single ids
  }
}
