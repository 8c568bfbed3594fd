import { ROUTES } from "@/app/routes";
import { makeSetupLink } from "@/lib/guard/accounts/account-links";
import type { CallOptions, TestConsole } from "./console";

type Modules = Record<string, () => Promise<Record<string, Parameters<TestConsole["call"]>[0]>>>;
export type SignedInCall = CallOptions & { cookie?: string };

export const TEST_PASSWORD = "four small grey owls";

/** Calls a route by its name below /api/v1, such as `GET events`, with the cookie of a session. */
export function callerOf(web: () => TestConsole) {
  return async <T = Record<string, unknown>>(route: string, { cookie, headers, ...rest }: SignedInCall = {}) => {
    const [method, path] = route.split(" ") as [string, string];
    const module = await (ROUTES as unknown as Modules)[`/api/v1/${path}`]!();
    const answer = await web().call<T>(module[method]!, {
      ...rest,
      method,
      headers: { ...(cookie && { cookie }), ...headers },
    });
    return { ...answer, cookie: answer.headers.getSetCookie()[0]?.split(";")[0] };
  };
}

export type SignedInCaller = ReturnType<typeof callerOf>;

/** The first administrator, Ada; returns her cookie. */
export async function setUpAda(web: TestConsole, call: SignedInCaller): Promise<string> {
  const link = await makeSetupLink(web.deps, "http://localhost:3000");
  const body = { secret: link!.split("#")[1]!, name: "Ada", password: TEST_PASSWORD };
  return (await call("POST account-links/use", { body })).cookie!;
}

/** An account with a password, and the cookie of its session. */
export async function addPerson(call: SignedInCaller, admin: string, name: string, rights: object) {
  type Made = { account: { id: string }; link: string };
  const made = await call<Made>("POST accounts", { cookie: admin, body: { kind: "person", name, ...rights } });
  const body = { secret: made.body.link.split("#")[1]!, password: TEST_PASSWORD };
  return { id: made.body.account.id, cookie: (await call("POST account-links/use", { body })).cookie! };
}
