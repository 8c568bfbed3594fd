import { handle } from "@/app/_server/handle";
import { DomainError } from "@/lib/platform/plain/problem.pure";

/** Every path below /api that no route serves: a problem, like any other answer of the API. */
const nowhere = handle({
  id: "nowhere",
  summary: "Nothing is served here",
  query: { parameters: {}, problems: ["unknown-route"], read: () => undefined },
  run: async ({ request }) => {
    const { pathname } = new URL(request.url);
    throw new DomainError("unknown-route", `${request.method} ${pathname} is not served here`, {
      fields: [{ field: "path", detail: "see GET /api/v1/openapi.json for what is" }],
    });
  },
});

function answer(request: Request): Promise<Response> {
  return nowhere(request, { params: Promise.resolve({}) });
}

export { answer as DELETE, answer as GET, answer as PATCH, answer as POST, answer as PUT };
