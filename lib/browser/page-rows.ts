/** Rows of one page of the events list: three screens, so that a scroll rarely waits. Server and browser read the same. */
export const PAGE_ROWS = 100;
