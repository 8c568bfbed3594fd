import * as z from "zod/mini";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import {
  brokerSettings,
  choice,
  field,
  flag,
  hostAndPort,
  list,
  secret,
  slowLane,
  text,
  wholeNumber,
} from "@/lib/brokers/kinds/fields.shapes";

/** Names of streams and consumers are parts of subjects. */
const name = text(1, 255).check(z.regex(/^[^\s.*>/\\]+$/, "must not hold spaces, dots, *, >, / or \\"));
const subject = text(1, 500).check(z.regex(/^[^\s.*>]+(\.[^\s.*>]+)*$/, "must be a subject without wildcards"));

const config = z
  .strictObject({
    servers: field(list(20, hostAndPort("nats.example:4222")), {
      label: "Servers",
      hint: "host:port; the first that answers is used.",
      example: "nats.example:4222",
      role: "address",
    }),
    user: field(z.optional(text(1, 300)), { label: "User", example: "parkade" }),
    password: field(z.optional(secret()), { label: "Password", example: "env:PARKADE_SECRET_NATS", role: "secret" }),
    token: field(z.optional(secret()), { label: "Token", role: "secret", advanced: true }),
    nkeySeed: field(z.optional(secret()), {
      label: "NKey seed",
      hint: "Begins with SU.",
      role: "secret",
      advanced: true,
    }),
    creds: field(z.optional(secret()), {
      label: "Credentials file",
      hint: "The whole content of a .creds file.",
      role: "secret",
      long: true,
      advanced: true,
    }),
    read: field(z._default(choice(["stream", "advisories"]), "stream"), {
      label: "What is read",
      hint: "stream: a stream to which consumers publish dead letters. advisories: a stream that captures NATS advisories about messages that were delivered too often or terminated.",
    }),
    stream: field(name, { label: "Stream", hint: "The stream to read.", example: "ORDERS_DLQ" }),
    filter: field(z.optional(text(1, 500)), {
      label: "Subject",
      hint: "Only messages of this subject; * and > are wildcards.",
      example: "orders.dlq.>",
      advanced: true,
    }),
    consumer: field(z.optional(name), {
      label: "Durable consumer",
      hint: "Keeps Parkade's position in the stream. Created if missing; default: parkade_ and the name of the source.",
      example: "parkade_orders",
      advanced: true,
    }),
    createStream: field(z.optional(flag()), {
      label: "Create the stream of advisories",
      hint: "Makes the stream when it is missing. Only advisories from then on are captured.",
      advanced: true,
    }),
    domain: field(z.optional(name), { label: "JetStream domain", hint: "Of a leaf node.", advanced: true }),
    redriveTo: z.optional(
      z.strictObject({
        subject: field(z.optional(subject), {
          label: "Redrive to",
          hint: "Instead of the original subject.",
          example: "orders.placed",
        }),
        subjectHeader: field(z.optional(text(1, 200)), {
          label: "Header with the original subject",
          hint: "For dead letters that your consumers publish.",
          example: "x-original-subject",
          advanced: true,
        }),
        stripPrefix: field(z.optional(text(1, 300)), {
          label: "Prefix of dead letters",
          hint: "Removed from the subject of a dead letter: dlq. turns dlq.orders.placed into orders.placed.",
          example: "dlq.",
          advanced: true,
        }),
        expectStream: field(z.optional(flag()), {
          label: "Expect the original stream",
          hint: "Refuse to send if another stream has the subject by now. Usually off: messages of consumers that copy all headers to the dead-letter stream would be refused.",
          advanced: true,
        }),
      }),
    ),
    slowLaneSubject: slowLane(subject, "subject", "orders.slow"),
    ackWaitSeconds: field(z.optional(wholeNumber(2, 43_200)), {
      label: "Acknowledgement wait",
      hint: "Seconds until NATS redelivers a message if the worker dies; extended while the worker holds it.",
      example: "60",
      advanced: true,
    }),
    ...brokerSettings,
  })
  .check(
    z.refine(({ user, password }) => (user === undefined) === (password === undefined), {
      error: "user and password must be set together",
      path: ["password"],
    }),
    z.refine(
      ({ user, token, nkeySeed, creds }) =>
        [user, token, nkeySeed, creds].filter((way) => way !== undefined).length <= 1,
      { error: "use only one way to log in: user and password, token, nkeySeed or creds", path: ["user"] },
    ),
    z.refine(({ read, createStream }) => createStream !== true || read === "advisories", {
      error: "creates only streams of advisories: set read to advisories",
      path: ["createStream"],
    }),
  );
export type NatsConfig = z.infer<typeof config>;

export const nats = descriptor({
  kind: "nats",
  label: "NATS JetStream",
  about: "Reads a dead-letter stream, or the advisories of NATS; a redrive publishes to the original subject.",
  icon: "radio",
  config,
  capabilities: { reads: true, redrives: true, order: "per stream", slowLane: true },
  destination: ["redriveTo", "checkCall"],
  example: {
    servers: ["nats.example:4222"],
    user: "parkade",
    password: "env:PARKADE_SECRET_NATS",
    stream: "ORDERS_DLQ",
  },
  docs: "connect-nats.md",
  reads: ({ stream, read }) => (read === "advisories" ? `advisories in stream ${stream}` : `stream ${stream}`),
  address: ({ redriveTo, slowLaneSubject }, lane) => {
    const subject = (lane === "slow" ? slowLaneSubject : undefined) ?? redriveTo?.subject;
    return subject === undefined ? "original subject" : `subject ${subject}`;
  },
});
