import { GeistMono } from "geist/font/mono";
import { GeistSans } from "geist/font/sans";
import type { Metadata, Viewport } from "next";
import { headers } from "next/headers";
import type { ReactNode } from "react";
import { Frame } from "@/components/shell/frame";
import { Providers } from "@/components/shell/providers";
import { EARLY_KEYS } from "@/lib/platform/browser/early-keys.browser";
import { THEME_SCRIPT, TRUSTED_SCRIPTS } from "@/lib/platform/browser/head-scripts.browser";
import "./globals.css";

export const metadata: Metadata = {
  title: { default: "Parkade", template: "%s · Parkade" },
  description: "The operations console for dead letters.",
  robots: { index: false, follow: false },
};

export const viewport: Viewport = {
  width: "device-width",
  initialScale: 1,
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#f5f6f8" },
    { media: "(prefers-color-scheme: dark)", color: "#0d0e11" },
  ],
};

const HEAD_SCRIPT = TRUSTED_SCRIPTS + THEME_SCRIPT + EARLY_KEYS;

export default async function RootLayout({ children }: { children: ReactNode }) {
  // scripts/web-server.ts sets the header. Its Content-Security-Policy runs no script without the nonce.
  const nonce = (await headers()).get("x-nonce") ?? undefined;
  return (
    <html lang="en" className={`${GeistSans.variable} ${GeistMono.variable}`} suppressHydrationWarning>
      <head>
        {/* biome-ignore lint/security/noDangerouslySetInnerHtml: constants that must run before other scripts and the first paint */}
        <script nonce={nonce} suppressHydrationWarning dangerouslySetInnerHTML={{ __html: HEAD_SCRIPT }} />
      </head>
      <body>
        <Providers renderedAtMs={Date.now()} nonce={nonce}>
          <Frame>{children}</Frame>
        </Providers>
      </body>
    </html>
  );
}
