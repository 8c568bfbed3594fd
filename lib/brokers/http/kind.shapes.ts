import * as z from "zod/mini";
import { NO_WEBHOOK_SECRET } from "@/lib/brokers/http/webhook-secret.pure";
import { descriptor } from "@/lib/brokers/kinds/descriptor.shapes";
import {
  checkCall,
  choice,
  field,
  flag,
  isWebhookSecret,
  list,
  mapping,
  oauthSettings,
  secret,
  text,
  tlsSettings,
  urlOf,
  wholeNumber,
} from "@/lib/brokers/kinds/fields.shapes";
import { redactUrl } from "@/lib/guard/redaction/redact-url.shapes";

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Set by the publisher itself; a fixed value would break the request or its meaning. */
const RESERVED_HEADER =
  /^(host|content-length|content-type|transfer-encoding|connection|idempotency-key|x-redrive-.*)$/i;

const headerName = text(1, 100).check(
  z.regex(HEADER_NAME, "is not a header name"),
  z.refine((name) => !RESERVED_HEADER.test(name), "is set by Parkade itself"),
);

const SECRET_HINT =
  "standard-webhooks: base64 with the prefix whsec_. hmac: any text, preferably env:PARKADE_SECRET_NAME.";

/** The scheme of a signature, and how that of hmac is written. */
function signature(section: string) {
  const rare = { section, advanced: true } as const;
  const prefix = text(0, 40).check(z.regex(/^[\x21-\x7e]*$/, "holds characters that a header cannot carry"));
  return {
    scheme: field(choice(["standard-webhooks", "hmac"]), {
      label: "Signature",
      hint: "standard-webhooks: webhook-id, webhook-timestamp and webhook-signature. hmac: one header over the body, HMAC-SHA256.",
      ...rare,
    }),
    rest: {
      header: field(z._default(headerName, "x-signature"), { label: "Header", hint: "Of hmac.", ...rare }),
      prefix: field(z._default(prefix, ""), {
        label: "Prefix",
        hint: "Text in front of the signature.",
        example: "sha256=",
        ...rare,
      }),
      encoding: field(z._default(choice(["hex", "base64"]), "hex"), { label: "Encoding", hint: "Of hmac.", ...rare }),
      timestampHeader: field(z.optional(headerName), {
        label: "Timestamp header",
        hint: "Seconds since 1970. With it hmac signs TIMESTAMP.BODY; clocks may differ by five minutes.",
        example: "x-timestamp",
        ...rare,
      }),
    },
  };
}

const BATCHES = "Batches";
const SENT_BY = "Signature of what Parkade sends";
const SENT_TO = "Signature of what is sent to Parkade";
const sentBy = signature(SENT_BY);
const sentTo = signature(SENT_TO);

const settings = z.strictObject({
  redriveUrl: field(z.optional(urlOf(["http:", "https:"], "https://orders.example/events")), {
    label: "Redrive URL",
    hint: "Where a redrive posts. Without it events can be parked, not redriven.",
    example: "https://orders.example/events",
    role: "address",
  }),
  slowLaneUrl: field(z.optional(urlOf(["http:", "https:"], "https://orders.example/slow")), {
    label: "Slow-lane URL",
    hint: "Where the slow lane posts. Without it the slow lane uses the redrive URL.",
    example: "https://orders.example/slow",
    role: "address",
    advanced: true,
  }),
  headers: field(
    z.optional(
      z.record(
        z.string().check(
          z.regex(HEADER_NAME, "is not a header name"),
          z.refine((name) => !RESERVED_HEADER.test(name), "is set by Parkade itself"),
        ),
        z.string("must be text").check(z.regex(/^[\t\x20-\x7e]*$/, "holds characters that a header cannot carry")),
      ),
    ),
    {
      label: "Headers",
      hint: "Added to every request; replaces a parked header of the same name.",
      role: "secret",
      advanced: true,
    },
  ),
  oauth: z.optional(oauthSettings),
  format: field(z.optional(choice(["as-parked", "cloudevents-binary", "cloudevents-structured"])), {
    label: "Format",
    hint: "as-parked: the body and headers as they were. cloudevents-...: as a CloudEvent, one per request.",
    advanced: true,
  }),
  batch: z.optional(
    z.strictObject({
      format: field(choice(["cloudevents", "ndjson"]), {
        label: "Batches",
        hint: "Several events in one request, with a result for each in the answer. The service must support this format.",
        section: BATCHES,
        advanced: true,
      }),
      events: field(z._default(wholeNumber(2, 1_000), 100), {
        label: "Events",
        hint: "Maximum per request.",
        section: BATCHES,
        advanced: true,
      }),
      bytes: field(z._default(wholeNumber(1_000, 16_000_000), 1_000_000), {
        label: "Bytes",
        hint: "Maximum size of a request. A larger event is sent in its own request.",
        section: BATCHES,
        advanced: true,
      }),
    }),
  ),
  signing: z.optional(
    z
      .strictObject({
        scheme: sentBy.scheme,
        secret: field(secret(), {
          label: "Secret",
          hint: SECRET_HINT,
          role: "secret",
          section: SENT_BY,
          advanced: true,
        }),
        ...sentBy.rest,
      })
      .check(
        z.refine((signing) => signing.scheme === "hmac" || isWebhookSecret(signing.secret), {
          path: ["secret"],
          error: NO_WEBHOOK_SECRET,
        }),
      ),
  ),
  signedIntake: z.optional(
    z
      .strictObject({
        scheme: sentTo.scheme,
        secrets: field(list(10, secret()), {
          label: "Secrets of senders",
          hint: `A signature by any of them is accepted, so that a secret can be replaced. ${SECRET_HINT}`,
          role: "secret",
          section: SENT_TO,
          advanced: true,
        }),
        ...sentTo.rest,
      })
      .check(
        z.refine((intake) => intake.scheme === "hmac" || intake.secrets.every(isWebhookSecret), {
          path: ["secrets"],
          error: NO_WEBHOOK_SECRET,
        }),
      ),
  ),
  forwardCredentials: field(z.optional(flag()), {
    label: "Forward parked credentials",
    hint: "Send authorization, cookie and proxy-authorization as they were parked. Usually off: these credentials have expired.",
    advanced: true,
  }),
  tls: z.optional(tlsSettings),
  checkCall,
  mapping,
});

const OAUTH_ALONE = "cannot be combined with oauth, which sets the Authorization header: remove one of them";

/** The token is the Authorization of each request: nothing else may be. */
const config = settings.check((context) => {
  const { oauth, headers = {}, redriveUrl = "", slowLaneUrl = "", signing } = context.value;
  if (oauth === undefined) return;
  const fault = (path: string[], message: string) =>
    context.issues.push({ code: "custom", path, message, input: context.value });
  for (const name of Object.keys(headers)) if (isAuthorization(name)) fault(["headers", name], OAUTH_ALONE);
  if (signing && [signing.header, signing.timestampHeader ?? ""].some(isAuthorization))
    fault(["signing", "header"], OAUTH_ALONE);
  for (const [field, url] of Object.entries({ redriveUrl, slowLaneUrl }))
    if (URL.canParse(url) && new URL(url).username + new URL(url).password !== "")
      fault([field], `holds a user or a password, which ${OAUTH_ALONE}`);
});

function isAuthorization(name: string): boolean {
  return name.toLowerCase() === "authorization";
}
export type HttpConfig = z.infer<typeof config>;

export const http = descriptor({
  kind: "http",
  label: "HTTP",
  about: "Services post their dead letters to Parkade's API; a redrive posts them to a URL.",
  icon: "globe",
  config,
  capabilities: { reads: false, redrives: true, order: null, slowLane: true },
  destination: [
    "redriveUrl",
    "headers",
    "oauth",
    "format",
    "batch",
    "signing",
    "forwardCredentials",
    "tls",
    "checkCall",
  ],
  example: { redriveUrl: "https://orders.example/events" },
  docs: "connect-http.md",
  reads: () => null,
  address: ({ redriveUrl, slowLaneUrl }, lane) => {
    const url = (lane === "slow" ? slowLaneUrl : undefined) ?? redriveUrl;
    return url === undefined ? null : redactUrl(url);
  },
});
