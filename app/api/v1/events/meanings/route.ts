import { handle } from "@/app/_server/handle";
import { meaningsQueryFrom } from "@/lib/contract/meanings";
import { readMeanings } from "@/lib/store/read/event-meanings";

export const GET = handle({
  query: meaningsQueryFrom,
  run: ({ deps, viewer, query, nowMs }) => readMeanings(deps.db, viewer, query.text, nowMs),
});
