import { describe, expect, test } from "vitest";
import { channelRequestSchema } from "@/lib/observe/channels/channels.shapes";
import { CHANNEL_KINDS } from "@/lib/observe/channels/kinds/channel-kinds.pure";
import { type ChannelDraft, channelDraftOf, channelRequest, NEW_CHANNEL, settingsOf } from "./channel-draft";

/** What the form suggests, typed as it is suggested. */
const typed = (kind: ChannelDraft["kind"]) =>
  Object.fromEntries(Object.entries(settingsOf(kind)).map(([setting, { placeholder }]) => [setting, placeholder]));

describe("the form of a channel", () => {
  test.each(CHANNEL_KINDS)("takes what it suggests for %s, and gets it back as it was", (kind) => {
    const made = channelRequest({ ...NEW_CHANNEL, name: "ops", kind, sources: "orders", settings: typed(kind) });
    expect(made).toMatchObject({ ok: true, request: { config: { kind }, sources: ["orders"] } });
    if (!made.ok) return;
    expect(channelRequestSchema.safeParse(made.request).error).toBeUndefined();
    const stored = {
      ...{ id: "", plainSecrets: [], waiting: 0, failed: 0, lastSentAt: null, lastError: null },
      ...{ createdBy: "", createdAt: "", updatedBy: "", updatedAt: "" },
    };
    expect(channelRequest(channelDraftOf({ ...stored, ...made.request }))).toEqual(made);
  });

  test.each<[Partial<ChannelDraft>, string]>([
    [{ name: "" }, "name"],
    [{ severities: [] }, "severities"],
    [{ settings: {} }, "url"],
    [{ kind: "email", settings: { ...typed("email"), to: "" } }, "to"],
    [{ kind: "pagerduty", settings: { routingKey: " " } }, "routingKey"],
  ])("says what is wrong at its field: %j", (own, field) => {
    const made = channelRequest({ ...NEW_CHANNEL, name: "ops", settings: { url: "https://ops.example.com" }, ...own });
    expect(made.ok ? null : Object.keys(made.errors)).toEqual([field]);
  });
});
