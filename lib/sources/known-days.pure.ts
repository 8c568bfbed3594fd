/** Days for which a repeat or a bounce of an event that has left the store is recognised. `usual`: of a new source. */
export const KNOWN_DAYS = { min: 7, max: 3650, usual: 400 };
