import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import { brokerSettings, field, secret, slowLane, text, urlOf, wholeNumber } from "@/lib/brokers/kinds/fields.shapes";

/** https://docs.cloud.google.com/pubsub/docs/pubsub-basics#resource_names */
const ID = /^(?!goog)[A-Za-z][A-Za-z0-9._~+%-]{2,254}$/;
const PROJECT = /^(?:[a-z0-9.-]+:)?[a-z0-9-]{1,63}$/;

/** An id, or the whole name: `projects/<project>/<collection>/<id>`. */
function name(collection: "subscriptions" | "topics", example: string) {
  return text(1, 400).check(
    z.refine((value) => {
      const [, project, kind, id] = /^projects\/([^/]+)\/([a-z]+)\/([^/]+)$/.exec(value) ?? [];
      return id === undefined ? ID.test(value) : kind === collection && PROJECT.test(project!) && ID.test(id);
    }, `must be an id such as ${example}, or projects/PROJECT/${collection}/${example}`),
  );
}

const topic = name("topics", "orders");

const config = z
  .strictObject({
    subscription: field(name("subscriptions", "orders-dead-parkade"), {
      label: "Subscription",
      hint: "A pull subscription of the dead-letter topic, for Parkade alone.",
      example: "projects/shop-prod/subscriptions/orders-dead-parkade",
    }),
    project: field(z.optional(text(1, 100).check(z.regex(PROJECT, "must be the id of a project"))), {
      label: "Project",
      hint: "Id of the project. Not needed if the subscription is given by its full name.",
      example: "shop-prod",
    }),
    credentials: field(z.optional(secret()), {
      label: "Service account key",
      hint: "The whole JSON file. Without it the worker's own account is used: the application default credentials.",
      example: "env:PARKADE_SECRET_GOOGLE",
      role: "secret",
      long: true,
    }),
    endpoint: field(z.optional(urlOf(["https:", "http:"], "https://europe-west3-pubsub.googleapis.com")), {
      label: "Endpoint",
      hint: "Of a region, or a private one. http:// is for an emulator: no encryption, and no credentials are sent.",
      example: "https://europe-west3-pubsub.googleapis.com",
      role: "address",
      advanced: true,
    }),
    redriveTo: z.optional(
      z.strictObject({
        topic: field(z.optional(topic), {
          label: "Redrive to",
          hint: "Instead of the topic that a message died in; needed where messages do not name a subscription.",
          example: "orders",
        }),
      }),
    ),
    slowLaneTopic: slowLane(topic, "topic", "orders-slow"),
    ackDeadlineSeconds: field(z.optional(wholeNumber(10, 600)), {
      label: "Acknowledgement deadline",
      hint: "Seconds until Pub/Sub redelivers a message if the worker dies; extended while the worker holds it.",
      example: "60",
      advanced: true,
    }),
    ...brokerSettings,
  })
  .check(
    z.refine(({ project, subscription }) => project !== undefined || subscription.includes("/"), {
      error: "is needed, or the full name of the subscription: projects/PROJECT/subscriptions/ID",
      path: ["project"],
    }),
    z.refine(({ endpoint, credentials }) => credentials === undefined || !/^http:/i.test(endpoint ?? ""), {
      error: "is never sent to an http:// endpoint: remove one of the two",
      path: ["credentials"],
    }),
  );
export type PubsubConfig = z.infer<typeof config>;

/** `projects/<project>/<collection>/<id>` of an id, in the project of the source; a whole name stays as it is. */
export function resourceName(
  { project, subscription }: Pick<PubsubConfig, "project" | "subscription">,
  collection: "subscriptions" | "topics",
  id: string,
): string {
  return id.includes("/") ? id : `projects/${project ?? subscription.split("/")[1]}/${collection}/${id}`;
}

export function shortName(resource: string): string {
  return resource.slice(resource.lastIndexOf("/") + 1);
}

export const pubsub = descriptor({
  kind: "pubsub",
  label: "Google Cloud Pub/Sub",
  about:
    "Reads a subscription of a dead-letter topic; a redrive publishes to the topic a message died in, for all its subscriptions.",
  icon: "messages-square",
  config,
  capabilities: { reads: true, redrives: true, order: "per ordering key", slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: {
    subscription: "projects/shop-prod/subscriptions/orders-dead-parkade",
    credentials: "env:PARKADE_SECRET_GOOGLE",
  },
  docs: "connect-pubsub.md",
  reads: ({ subscription }) => `subscription ${shortName(subscription)}`,
  address: ({ redriveTo, slowLaneTopic }, lane) => {
    const topic = (lane === "slow" ? slowLaneTopic : undefined) ?? redriveTo?.topic;
    return topic === undefined ? "origin topic" : `topic ${shortName(topic)}`;
  },
});
