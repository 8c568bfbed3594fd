/** What a person has to set before anything can be archived or restored. */
export function NoArchive({ what }: { what: "removed" | "restored" }) {
  return (
    <p className="text-pretty">
      No archive is configured, so nothing can be {what}. Set <Code>PARKADE_ARCHIVE</Code> for web and worker to{" "}
      <Code>file:///folder</Code> or <Code>s3://bucket/prefix</Code>, and restart both.
    </p>
  );
}

function Code({ children }: { children: string }) {
  return <code className="font-mono text-sm wrap-anywhere text-ink">{children}</code>;
}
