import { expect, test } from "vitest";
import { type FactorState, lacksSecondFactor, parseSecondFactorRoles } from "./second-factor-demand.pure";

test.each([
  ["own", []],
  [" own ", []],
  ["all", ["viewer", "operator", "approver", "admin"]],
  ["admin", ["admin"]],
  ["admin,approver", ["approver", "admin"]],
  ["admin, approver  admin", ["approver", "admin"]],
  ["Admin", null],
  ["own,admin", null],
  ["all,admin", null],
  ["admins", null],
  [",", null],
])("%j demands a second factor of %j", (text, roles) => {
  expect(parseSecondFactorRoles(text)).toEqual(roles);
});

const ADMIN: FactorState = { kind: "person", role: "admin", hasPassword: true, totpSince: null };

test.each([
  ["a person of a role that is named", ADMIN, true],
  ["the same with a factor", { ...ADMIN, totpSince: 1_795_000_000_000 }, false],
  ["a person of another role", { ...ADMIN, role: "operator" as const }, false],
  ["a person of the provider, who has no password", { ...ADMIN, hasPassword: false }, false],
  ["a service", { ...ADMIN, kind: "service" as const }, false],
])("%s lacks a factor: see the last value", (_, account, lacks) => {
  expect(lacksSecondFactor(account, { secondFactorRoles: ["approver", "admin"] })).toBe(lacks);
  expect(lacksSecondFactor(account, { secondFactorRoles: [] })).toBe(false);
});
