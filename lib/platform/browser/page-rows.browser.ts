/** Rows of one page of the events list: three screens, so that scrolling rarely waits. */
export const PAGE_ROWS = 100;
