import type { Metadata } from "next";
import { pageCall } from "@/app/_server/page-call";
import { PageHeader } from "@/components/ui/page-header";
import { readGlossary } from "@/lib/observe/docs/docs.read";

export const metadata: Metadata = { title: "Glossary" };

export default async function Page() {
  await pageCall();
  return (
    <>
      <PageHeader title="Glossary" meta="terms used in the console and the API" />
      <dl className="grid max-w-[80ch] gap-y-2 px-4 pb-6 sm:grid-cols-[10rem_minmax(0,1fr)]">
        {(await readGlossary()).map(({ word, meaning }) => (
          <div key={word} id={word} className="contents [&:target>*]:bg-hover">
            <dt className="font-medium sm:py-0.5">
              <a href={`#${word}`} className="hover:underline">
                {word}
              </a>
            </dt>
            <dd className="text-muted max-sm:mb-2 sm:py-0.5">{meaning}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
