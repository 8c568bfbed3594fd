import type { MarkedToken } from "marked";
import type { Metadata } from "next";
import { pageCall } from "@/app/_server/page-call";
import NotFound from "@/app/not-found";
import { PageHeader } from "@/components/ui/page-header";
import { readDocsPage, tokensOf } from "@/lib/observe/docs/docs.read";
import { Markdown } from "./markdown";

/** A page of docs/, with this console's address in its commands. */
export async function DocsView({ path }: { path: string[] }) {
  const { deps } = await pageCall();
  const text = await readDocsPage(path);
  // Not `notFound()`: Next would answer with a document of its own, without the policy of our scripts.
  if (text === null) return <NotFound />;
  const { publicUrl } = deps.env;
  const withScheme = text.replaceAll("http://localhost:3000", publicUrl);
  const tokens = tokensOf(withScheme.replaceAll("localhost:3000", publicUrl.replace(/^http:\/\//, "")));
  return (
    <>
      <PageHeader title={headingOf(tokens)} meta={path[0] === "runbooks" ? "Runbook" : "Documentation"} />
      <article className="max-w-[100ch] px-4 pb-8 wrap-anywhere">
        <Markdown tokens={tokens.filter((token) => !isTitle(token))} path={path} />
      </article>
    </>
  );
}

export async function titleOf(path: string[]): Promise<Metadata> {
  const text = await readDocsPage(path);
  return { title: text === null ? "Not found" : headingOf(tokensOf(text)) };
}

const isTitle = (token: MarkedToken) => token.type === "heading" && token.depth === 1;

function headingOf(tokens: readonly MarkedToken[]): string {
  const title = tokens.find(isTitle);
  return title?.type === "heading" ? title.text.replaceAll("`", "") : "Documentation";
}
