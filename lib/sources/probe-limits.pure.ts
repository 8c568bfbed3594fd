/** The longest payload, and the most text of headers, that a probe answers for the preview of a mapping. */
export const SAMPLE_CHARS_MAX = 16_384;
