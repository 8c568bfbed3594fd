/** Days for which a repeat or a bounce of an event that has left the store is recognised. `usual`: of a new source. */
export const KNOWN_DAYS = { min: 7, max: 3650, usual: 400 };

/** The longest payload, and the most text of headers, that a probe answers for the preview of a mapping. */
export const SAMPLE_CHARS_MAX = 16_384;
