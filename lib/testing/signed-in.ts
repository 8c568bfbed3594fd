import { ROUTES } from "@/app/routes";
import { addAda, giveCheapPassword, PASSWORD } from "@/lib/guard/sign-in/testing/cheap-password";
import type { CallOptions, TestConsole } from "./console";

type Modules = Record<string, () => Promise<Record<string, Parameters<TestConsole["call"]>[0]>>>;
export type SignedInCall = CallOptions & { cookie?: string };

export const TEST_PASSWORD = PASSWORD;

/** Calls a route by its name below /api/v1, such as `GET events`, with the cookie of a session. */
export function callerOf(web: () => TestConsole) {
  const call = async <T = Record<string, unknown>>(route: string, { cookie, headers, ...rest }: SignedInCall = {}) => {
    const [method, path] = route.split(" ") as [string, string];
    const module = await (ROUTES as unknown as Modules)[`/api/v1/${path}`]!();
    const answer = await web().call<T>(module[method]!, {
      ...rest,
      method,
      headers: { ...(cookie && { cookie }), ...headers },
    });
    return { ...answer, cookie: answer.headers.getSetCookie()[0]?.split(";")[0] };
  };
  return Object.assign(call, { db: () => web().deps.db });
}

export type SignedInCaller = ReturnType<typeof callerOf>;

const signIn = async (call: SignedInCaller, name: string) =>
  (await call("POST sign-in", { body: { name, password: PASSWORD } })).cookie!;

/** The first administrator, Ada; returns her cookie. */
export async function setUpAda(web: TestConsole, call: SignedInCaller): Promise<string> {
  await addAda(web.deps.db);
  return signIn(call, "Ada");
}

/** An account with a password, and the cookie of its session. */
export async function addPerson(call: SignedInCaller, admin: string, name: string, rights: object) {
  type Made = { account: { id: string } };
  const made = await call<Made>("POST accounts", { cookie: admin, body: { kind: "person", name, ...rights } });
  const { id } = made.body.account;
  await giveCheapPassword(call.db(), id);
  return { id, cookie: await signIn(call, name) };
}
