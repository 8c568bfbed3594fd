import { handle } from "@/app/_server/handle";
import { takeLogout } from "@/app/_server/sign-in/oidc";

/** The provider posts a form here when a person signs out there; the signature of its token says that it is the provider. */
export const POST = handle({
  id: "endSessionsOfProvider",
  summary: "Take a logout token of the OpenID provider",
  anybody: true,
  problems: ["payload-too-large", "invalid-utf8"],
  run: ({ deps, request }) => takeLogout(request, deps),
});
