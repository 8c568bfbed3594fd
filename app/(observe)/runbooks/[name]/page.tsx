import { DocsView, titleOf } from "../../docs/docs-view";

type Asked = { params: Promise<{ name: string }> };

export const generateMetadata = async ({ params }: Asked) => titleOf(["runbooks", (await params).name]);

/** The address that alerts carry. */
export default async function Page({ params }: Asked) {
  return <DocsView path={["runbooks", (await params).name]} />;
}
