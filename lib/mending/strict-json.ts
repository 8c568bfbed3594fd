/** null = the text is one JSON document; else what is wrong with it. */
export function strictJson(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `is not JSON: ${(error as Error).message.slice(0, 200)}`;
  }
}
