import * as z from "zod/mini";
import { descriptor } from "@/lib/kinds/descriptor";
import { field, flag, mapping, urlOf } from "@/lib/kinds/fields";
import { redactUrl } from "@/lib/kinds/redact-url";

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Set by the publisher itself; a fixed value would break the request or its meaning. */
const RESERVED_HEADER =
  /^(host|content-length|content-type|transfer-encoding|connection|idempotency-key|x-redrive-.*)$/i;

const config = z.strictObject({
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
      hint: "Added to every request, over a parked header of the same name.",
      role: "secret",
      advanced: true,
    },
  ),
  forwardCredentials: field(z.optional(flag()), {
    label: "Forward parked credentials",
    hint: "Send back authorization, cookie and proxy-authorization as parked. Off: those credentials are old.",
    advanced: true,
  }),
  mapping,
});
export type HttpConfig = z.infer<typeof config>;

export const http = descriptor({
  kind: "http",
  label: "HTTP",
  about: "Services post their dead letters to Parkade's API; a redrive posts them to a URL.",
  icon: "globe",
  config,
  capabilities: { reads: false, redrives: true, order: null, slowLane: true },
  example: { redriveUrl: "https://orders.example/events" },
  docs: "connect-http.md",
  reads: () => null,
  address: ({ redriveUrl, slowLaneUrl }, lane) => {
    const url = (lane === "slow" ? slowLaneUrl : undefined) ?? redriveUrl;
    return url === undefined ? null : redactUrl(url);
  },
});
