/** How many ids one request may name; a larger set is a filter. Keeps a request below a megabyte. */
export const SELECTED_IDS_MAX = 10_000;
