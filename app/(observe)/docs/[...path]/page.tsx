import { DocsView, titleOf } from "../docs-view";

type Asked = { params: Promise<{ path: string[] }> };

export const generateMetadata = async ({ params }: Asked) => titleOf((await params).path);

export default async function Page({ params }: Asked) {
  return <DocsView path={(await params).path} />;
}
