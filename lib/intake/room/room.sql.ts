/** A measurement that is older counts no more: the process that made it is gone, and nobody knows how much room there is. */
const MEASURED_WITHIN_S = 30;

/** Conditions of rows of intake_room, by the clock of the store. */
export const IS_CURRENT = `measured_at > now() - interval '${MEASURED_WITHIN_S} s'`;
export const STOPS_INTAKE = `stopped and ${IS_CURRENT}`;
