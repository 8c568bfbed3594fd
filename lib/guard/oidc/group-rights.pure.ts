import { ROLES, type Role } from "@/lib/guard/accounts/role.pure";
import { ACTIONS, type Action } from "@/lib/guard/viewer/viewer.pure";

/** What the members of one group of the provider may do here. */
export type GroupRights = {
  role: Role;
  /** Names; null = every source. */
  sources: string[] | null;
  /** Beside those of the role. */
  actions: Action[];
};

export type GroupRoles = ReadonlyMap<string, GroupRights>;

/**
 * Reads PARKADE_OIDC_ROLES, a JSON object: `{"sre": "admin", "orders-team": {"role": "operator", "sources": ["orders"]}}`. Returns what is
 * wrong with it as a text instead.
 */
export function parseGroupRoles(text: string): GroupRoles | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return 'must be JSON such as {"sre": "admin", "orders-team": {"role": "operator", "sources": ["orders"]}}';
  }
  if (!isObject(parsed)) return "must be a JSON object that names groups";
  const roles = new Map<string, GroupRights>();
  for (const [group, given] of Object.entries(parsed)) {
    const rights = readRights(typeof given === "string" ? { role: given } : given);
    if (typeof rights === "string") return `gives the group ${JSON.stringify(group)} ${rights}`;
    roles.set(group, rights);
  }
  return roles.size > 0 ? roles : "must name at least one group: nobody could sign in";
}

function readRights(given: unknown): GroupRights | string {
  if (!isObject(given)) return `a value that is neither a role nor an object: use one of ${ROLES.join(", ")}`;
  const { role, sources = null, actions = [], ...rest } = given;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return `${JSON.stringify(unknown)}, which is not known: use role, sources, actions`;
  if (!(ROLES as readonly unknown[]).includes(role))
    return `the role ${JSON.stringify(role)}: use one of ${ROLES.join(", ")}`;
  if (sources !== null && !isTexts(sources)) return "sources that are not a list of names";
  if (!isTexts(actions)) return "actions that are not a list of names";
  const wrong = actions.find((action) => !(ACTIONS as readonly string[]).includes(action));
  if (wrong !== undefined) return `the action ${JSON.stringify(wrong)}: use some of ${ACTIONS.join(", ")}`;
  return { role: role as Role, sources, actions: actions as Action[] };
}

/**
 * The rights of a member of these groups. The groups with the highest role count: all their sources, and the actions that each of them
 * adds. A lower role for other sources is left out, since an account has one role. null = no group is named.
 */
export function rightsOfGroups(groups: readonly string[], roles: GroupRoles): GroupRights | null {
  const own = groups.flatMap((group) => roles.get(group) ?? []);
  const highest = Math.max(...own.map(({ role }) => ROLES.indexOf(role)));
  const chosen = own.filter(({ role }) => ROLES.indexOf(role) === highest);
  const [first] = chosen;
  if (first === undefined) return null;
  // Actions that one group adds for its sources do not count for those of another.
  const actions = first.actions.filter((action) => chosen.every((each) => each.actions.includes(action)));
  const sources = chosen.some((each) => each.sources === null)
    ? null
    : [...new Set(chosen.flatMap((each) => each.sources ?? []))].sort();
  return { role: first.role, sources, actions };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string" && each !== "");
}
