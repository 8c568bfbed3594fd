import type { Action, Viewer } from "@/lib/guard/viewer/viewer.pure";
import { actionsOf, type Role } from "./role.pure";

/** What of an account decides what it may do. */
export type AccountRights = {
  /** Id of the account. */
  account: string;
  name: string;
  kind: "person" | "service";
  role: Role;
  /** Beside those of the role. */
  actions: readonly Action[];
  /** Names; null = every source. */
  sources: readonly string[] | null;
};

/** Of a session, or of a token. */
export function viewerOf(rights: AccountRights, session: string | null): Viewer {
  const { account, name, sources } = rights;
  const by = session === null ? { means: "token" as const } : { means: "session" as const, session };
  return { name, ...by, account, sources: sources ?? "all", actions: actionsOf(rights) };
}
