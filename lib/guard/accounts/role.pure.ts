import { ACTIONS, type Action } from "@/lib/guard/viewer/viewer.pure";

/** From the least to the most. */
export const ROLES = ["viewer", "operator", "approver", "admin"] as const;
export type Role = (typeof ROLES)[number];

const VIEWER: readonly Action[] = ["view", "change-view"];

/** What somebody on call does: understand, mend, send back, put aside. */
const OPERATOR: readonly Action[] = [
  ...VIEWER,
  "reveal",
  "export",
  "redrive",
  "ignore",
  "release",
  "confirm",
  "edit",
  "control",
  "acknowledge",
  "mark",
];

/** What each role may do; single actions can be added to an account. */
export const ROLE_ACTIONS: Readonly<Record<Role, "all" | readonly Action[]>> = {
  viewer: VIEWER,
  operator: OPERATOR,
  approver: [...OPERATOR, "approve"],
  admin: "all",
};

/** A program does not approve what others ask for, and makes no accounts: whoever has its token would be a second person. */
export const OF_PERSONS: readonly Action[] = ["approve", "change-accounts"];

type Rights = { kind: "person" | "service"; role: Role; actions: readonly Action[] };

/** The actions of a role with those that were added; of a service without those that are for people, whatever its row says. */
export function actionsOf({ kind, role, actions }: Rights): "all" | Action[] {
  const own = ROLE_ACTIONS[role];
  const all = own === "all" ? own : [...new Set([...own, ...actions])];
  if (kind === "person") return all;
  return (all === "all" ? ACTIONS : all).filter((action) => !OF_PERSONS.includes(action));
}

export const SERVICE_ROLES: readonly Role[] = ["viewer", "operator"];

/** What of these rights a service may not be given, by field. */
export function serviceFaults({ role, actions = [] }: Partial<Pick<Rights, "role" | "actions">>) {
  const ofPersons = actions.filter((action) => OF_PERSONS.includes(action));
  return [
    ...(role === undefined || SERVICE_ROLES.includes(role)
      ? []
      : [
          { field: "role", detail: `${role} is for people: give a service ${SERVICE_ROLES.join(" or ")}, and actions` },
        ]),
    ...ofPersons.map((action) => ({ field: "actions", detail: `${action} is for people, not for a service` })),
  ];
}
