import Link from "next/link";
import type { ComponentProps } from "react";
import { classNames } from "./class-names";

/** A link in a text. Its page is not fetched before the click. */
export function TextLink({ className, ...rest }: ComponentProps<typeof Link>) {
  return <Link prefetch={false} {...rest} className={classNames("text-accent hover:underline", className)} />;
}
