/** Events that one request of a restore names at most. */
export const RESTORED_MAX = 500;
