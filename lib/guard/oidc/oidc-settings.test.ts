import { describe, expect, test } from "vitest";
import { parseGroupRoles, rightsOfGroups } from "./group-rights.pure";
import { oidcSettingsOf } from "./oidc-settings.pure";

const GIVEN = {
  PARKADE_OIDC_ISSUER: "https://login.example.com/realms/ops",
  PARKADE_OIDC_CLIENT_ID: "parkade",
  PARKADE_OIDC_CLIENT_SECRET: null,
  PARKADE_OIDC_SCOPE: "openid profile",
  PARKADE_OIDC_NAME_CLAIM: null,
  PARKADE_OIDC_GROUPS_CLAIM: "groups",
  PARKADE_OIDC_ROLES: '{"sre": "admin"}',
  PARKADE_OIDC_LABEL: null,
  PARKADE_OIDC_ACR: "",
  PARKADE_OIDC_AMR: "",
  PARKADE_OIDC_MAX_AGE_MINUTES: null,
};

test("settings are complete, absent, or name each variable that is wrong", () => {
  expect(oidcSettingsOf(GIVEN)).toMatchObject({ label: "login.example.com", nameClaims: expect.any(Array) });
  expect(
    oidcSettingsOf({
      ...GIVEN,
      PARKADE_OIDC_ISSUER: null,
      PARKADE_OIDC_CLIENT_ID: null,
      PARKADE_OIDC_ROLES: null,
    }),
  ).toBeNull();
  expect(oidcSettingsOf({ ...GIVEN, PARKADE_OIDC_ROLES: null })).toEqual([
    "PARKADE_OIDC_ROLES is missing: sign-in by OpenID Connect needs it.",
  ]);
});

test.each([
  ["http://login.example.com", false],
  ["http://127.0.0.1:4000", true],
  ["https://login.example.com/?realm=ops", false],
  ["https://user@login.example.com", false],
  ["login.example.com", false],
])("the issuer %s: %s", (issuer, good) => {
  expect(Array.isArray(oidcSettingsOf({ ...GIVEN, PARKADE_OIDC_ISSUER: issuer }))).toBe(!good);
});

test("how a person must have signed in is listed, and is in seconds", () => {
  expect(oidcSettingsOf(GIVEN)).toMatchObject({ strength: { acr: [], amr: [], maxAgeS: null } });
  const strict = {
    PARKADE_OIDC_ACR: "phr  phrh",
    PARKADE_OIDC_AMR: "mfa hwk",
    PARKADE_OIDC_MAX_AGE_MINUTES: 7,
  };
  expect(oidcSettingsOf({ ...GIVEN, ...strict })).toMatchObject({
    strength: { acr: ["phr", "phrh"], amr: ["mfa", "hwk"], maxAgeS: 420 },
  });
});

test("the scope must ask for an ID token", () => {
  expect(oidcSettingsOf({ ...GIVEN, PARKADE_OIDC_SCOPE: "profile" })).toEqual([
    "PARKADE_OIDC_SCOPE must contain openid.",
  ]);
});

describe("roles of groups", () => {
  test.each([
    ["sre=admin", "must be JSON"],
    ['["sre"]', "must be a JSON object"],
    ["{}", "at least one group"],
    ['{"sre": "root"}', 'gives the group "sre" the role "root"'],
    ['{"sre": 7}', "neither a role nor an object"],
    ['{"sre": {"role": "admin", "source": "orders"}}', '"source", which is not known'],
    ['{"sre": {"role": "viewer", "sources": "orders"}}', "sources that are not a list"],
    ['{"sre": {"role": "viewer", "actions": ["fly"]}}', 'the action "fly"'],
  ])("%s is refused with what is wrong", (text, words) => {
    expect(parseGroupRoles(text)).toContain(words);
  });

  const roles = parseGroupRoles(
    JSON.stringify({
      all: "viewer",
      orders: { role: "operator", sources: ["orders"], actions: ["forget"] },
      billing: { role: "operator", sources: ["billing"] },
      ops: "operator",
    }),
  );
  if (typeof roles === "string") throw new Error(roles);

  test.each([
    [[], null],
    [["chess"], null],
    [["all"], { role: "viewer", sources: null, actions: [] }],
    // The role of a group without sources would reach every source: the higher role counts for its own alone.
    [["all", "orders"], { role: "operator", sources: ["orders"], actions: ["forget"] }],
    [["orders", "billing"], { role: "operator", sources: ["billing", "orders"], actions: [] }],
    [["orders", "ops"], { role: "operator", sources: null, actions: [] }],
  ])("%j give %j", (groups, rights) => {
    expect(rightsOfGroups(groups, roles)).toEqual(rights);
  });
});
