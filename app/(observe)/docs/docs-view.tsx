import type { Metadata } from "next";
import { pageCall } from "@/app/_server/page-call";
import NotFound from "@/app/not-found";
import { Markdown } from "@/components/ui/markdown";
import { PageHeader } from "@/components/ui/page-header";
import { readDocsPage } from "@/lib/observe/docs/docs.read";
import { type Block, blocksOf } from "@/lib/observe/docs/markdown.pure";

/** A page of docs/, with this console's address in its commands. */
export async function DocsView({ path }: { path: string[] }) {
  const { deps } = await pageCall();
  const text = await readDocsPage(path);
  // Not `notFound()`: Next would answer with a document of its own, without the policy of our scripts.
  if (text === null) return <NotFound />;
  const { publicUrl } = deps.env;
  const withScheme = text.replaceAll("http://localhost:3000", publicUrl);
  const blocks = blocksOf(withScheme.replaceAll("localhost:3000", publicUrl.replace(/^http:\/\//, "")));
  return (
    <>
      <PageHeader title={headingOf(blocks)} meta={path[0] === "runbooks" ? "Runbook" : "Documentation"} />
      <article className="max-w-[100ch] px-4 pb-8 wrap-anywhere">
        <Markdown blocks={blocks.filter((block) => !isTitle(block))} path={path} />
      </article>
    </>
  );
}

export async function titleOf(path: string[]): Promise<Metadata> {
  const text = await readDocsPage(path);
  return { title: text === null ? "Not found" : headingOf(blocksOf(text)) };
}

const isTitle = (block: Block) => block.kind === "heading" && block.level === 1;

function headingOf(blocks: Block[]): string {
  const title = blocks.find(isTitle);
  return title?.kind === "heading" ? title.text.replaceAll("`", "") : "Documentation";
}
