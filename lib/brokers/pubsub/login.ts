import { GoogleAuth, JWT } from "google-auth-library";
import { PubsubFault } from "@/lib/brokers/pubsub/failure";

export type Login = { getRequestHeaders(url: string): Promise<Headers> };
type ServiceAccount = { client_email: string; private_key: string; private_key_id?: string };

function serviceAccountOf(json: string): ServiceAccount {
  const bad = (what: string) =>
    new PubsubFault("PUBSUB_BAD_CREDENTIALS", `credentials ${what}: give the whole JSON key of a service account`);
  let account: Partial<ServiceAccount> & { type?: unknown };
  try {
    account = JSON.parse(json);
  } catch {
    throw bad("is no JSON");
  }
  const { type, client_email, private_key } = account ?? {};
  // The other types name addresses and programs that the library would call.
  if (type !== "service_account" || typeof client_email !== "string" || typeof private_key !== "string")
    throw bad("is not of the type service_account with client_email and private_key");
  return account as ServiceAccount;
}

/** The login of a service account, from its JSON key. Throws PubsubFault for what is no such key. */
export function serviceAccountLogin(credentials: string): Login {
  const { client_email, private_key, private_key_id } = serviceAccountOf(credentials);
  // Without scopes it signs its own token: no request to another server.
  return new JWT({
    email: client_email,
    key: private_key,
    ...(private_key_id === undefined ? {} : { keyId: private_key_id }),
  });
}

/** The login of the machine. */
export async function applicationDefaultLogin(): Promise<Login> {
  return await new GoogleAuth({ scopes: ["https://www.googleapis.com/auth/pubsub"] }).getClient();
}
