import type { QueryClient } from "@tanstack/react-query";
import type { ForgetList, ForgetPreview, ForgetRequest, ForgetWhat } from "@/lib/keep/forget/forget.shapes";
import { fetchJson } from "@/lib/platform/browser/fetch-json.browser";
import { invalidateAfter } from "@/lib/platform/browser/keys.browser";
import { usePages } from "@/lib/platform/browser/pages.browser";
import { useRead } from "@/lib/platform/browser/resource.browser";

const POLL_MS = 3_000;
const PAGE = 50;

export const useForgets = () => usePages<ForgetList>("forgets", `/api/v1/forget?limit=${PAGE}`, () => POLL_MS);

/** What a forget would do now; null = nothing is named yet. The answer is not kept: its key names a person. */
export const useForgetPreview = (what: ForgetWhat | null) =>
  useRead<ForgetPreview>("forgets", "/api/v1/forget/preview", { asks: what, gcTime: 0, retry: false });

export async function forgetData(client: QueryClient, body: ForgetRequest): Promise<{ id: string; receipt: string }> {
  const begun = await fetchJson<{ id: string; receipt: string }>("/api/v1/forget", {
    method: "POST",
    body,
    once: true,
  });
  void invalidateAfter(client, "forgets");
  return begun;
}
