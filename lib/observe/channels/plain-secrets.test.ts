import { describe, expect, test } from "vitest";
import { oauthSettings } from "@/lib/brokers/kinds/fields.shapes";
import {
  type ChannelConfig,
  configFaults,
  plainChannelSecretPlaces,
  redactChannelConfig,
  restoreMaskedAddress,
} from "@/lib/observe/channels/channels.shapes";
import { CHANNEL_KINDS, channelKindOf } from "@/lib/observe/channels/kinds/channel-kinds.pure";

/** Settings that are no secret and no address; every other one must be a reference, or an address without a token. */
const OPEN = [
  ...["kind", "server", "username", "from", "to"],
  ...["oauth.clientId", "oauth.method", "oauth.scope", "oauth.audience"],
];
const HOOK = "https://ops.example.com/alerts?token=s3cret";
const settings = CHANNEL_KINDS.flatMap((kind) => {
  const { settings: own, oauth } = channelKindOf(kind);
  const token = oauth ? Object.keys(oauthSettings.def.shape).map((name) => `oauth.${name}`) : [];
  return [...Object.keys(own), ...token].map((setting) => [kind, setting] as const);
});
const withOne = (kind: string, setting: string, value: string) => {
  const [name, own] = setting.split(".") as [string, string?];
  return { kind, [name]: own === undefined ? value : { [own]: value } } as unknown as ChannelConfig;
};
const field = (name: string) => expect.objectContaining({ fields: [expect.objectContaining({ field: name })] });

test.each(settings.filter(([, setting]) => !OPEN.includes(setting)))(
  "a secret of %s in %s must be a reference",
  (kind, setting) => {
    const plain = withOne(kind, setting, HOOK);
    expect(plainChannelSecretPlaces(plain)).toEqual([`config.${setting}`]);
    const refused = () => {
      const faults = configFaults(plain);
      if (faults.length > 0) throw Object.assign(new Error("faults"), { fields: faults });
      restoreMaskedAddress(plain, null, { plainSecretMode: "refuse" });
    };
    expect(refused).toThrow(field(`config.${setting}`));
    const named = withOne(kind, setting, "env:PARKADE_SECRET_X");
    expect([plainChannelSecretPlaces(named), configFaults(named)]).toEqual([[], []]);
    expect(restoreMaskedAddress(named, null, { plainSecretMode: "refuse" })).toEqual(named);
  },
);

describe("an address with a token", () => {
  const stored = withOne("webhook", "url", HOOK);
  const masked = withOne("webhook", "url", "https://ops.example.com/alerts?token=***");

  test("is shown masked, and stays when it comes back so, or as it is", () => {
    expect(redactChannelConfig(stored)).toEqual(masked);
    for (const edited of [masked, stored])
      expect(restoreMaskedAddress(edited, stored, { plainSecretMode: "refuse" })).toEqual(stored);
  });

  test("is taken where secrets are, but not with a mask that stands for nothing", () => {
    expect(restoreMaskedAddress(stored, null, { plainSecretMode: "take" })).toEqual(stored);
    const elsewhere = withOne("webhook", "url", "https://evil.example.com/alerts?token=***");
    for (const [edited, before] of [
      [masked, null],
      [elsewhere, stored],
    ] as const)
      expect(() => restoreMaskedAddress(edited, before, { plainSecretMode: "take" })).toThrow(field("config.url"));
  });
});
