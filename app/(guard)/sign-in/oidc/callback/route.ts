import { handle } from "@/app/_server/handle";
import { anyQuery, takeFromProvider } from "@/app/_server/sign-in/oidc";

/** Outside of /api: a browser comes here from a page of another site. */
export const GET = handle({
  id: "finishOidc",
  summary: "Return from the OpenID provider",
  anybody: true,
  query: anyQuery,
  status: 303,
  run: ({ deps, request, query }) => takeFromProvider(request, deps, query),
});
