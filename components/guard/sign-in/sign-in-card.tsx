import type { ReactNode } from "react";

/** The one thing on a page of whoever has not signed in. */
export function SignInCard({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="grid min-h-full place-items-center px-4 py-10">
      <section
        aria-labelledby="sign-in-title"
        className="grid w-full max-w-90 grid-cols-[minmax(0,1fr)] gap-4 rounded-lg border border-line bg-raised p-5 shadow-pop"
      >
        <h1 id="sign-in-title" className="text-lg font-semibold">
          {title}
        </h1>
        {children}
      </section>
    </div>
  );
}
