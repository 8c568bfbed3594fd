import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { RedriveNow } from "./redrive-now";

test("the button of a group has no number before it is counted how many go", () => {
  const html = renderToStaticMarkup(
    <QueryClientProvider client={new QueryClient()}>
      <RedriveNow filter={{ fingerprint: ["a"] }} pending={1_419} onClick={() => {}} />
    </QueryClientProvider>,
  );
  expect(html.replaceAll(/<[^>]*>/g, "").trim()).toBe("Redrive");
});
