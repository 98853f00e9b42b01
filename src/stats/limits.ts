/** Points (objects × buckets) of one history answer. Above it the next coarser tier answers, and the answer says so. */
export const HISTORY_POINTS_MAX = 400_000
/** Whole history answers kept: closed buckets never change, and pollers of the same second ask the same window. */
export const HISTORY_CACHE_BYTES = 16 * 1_024 * 1_024
/** Answers larger than this are not kept: they would push out the many small ones. */
export const HISTORY_CACHE_ENTRY_BYTES = 2 * 1_024 * 1_024
/** Pauses between restarts of the archive thread: doubled from the first to the last. */
export const THREAD_RESTART_FIRST_MS = 250
export const THREAD_RESTART_LAST_MS = 30_000
/** A thread that lived so long starts again at the shortest pause. */
export const THREAD_STEADY_MS = 60_000
