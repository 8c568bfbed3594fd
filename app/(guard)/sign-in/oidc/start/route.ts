import { handle } from "@/app/_server/handle";
import { anyQuery, leadToProvider } from "@/app/_server/sign-in/oidc";

/** Outside of /api: a browser comes here from a page of another site. */
export const GET = handle({
  id: "startOidc",
  summary: "Sign in at the OpenID provider",
  anybody: true,
  query: anyQuery,
  status: 303,
  run: ({ deps, request, query }) => leadToProvider(request, deps, query),
});
