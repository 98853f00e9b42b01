/** Named limits of the stores. A number that bounds memory, disk or time stands here, with its reason. */

/** Seconds a counter interval may last and still be spread over its buckets; beyond that they are unknown. */
export const ARCHIVE_HEARTBEAT_S = 5
/** Seconds served from the ring in memory. */
export const RING_SERVED_S = 300
/** Rows of the ring: what is served plus room for the rows being written while a reader copies. */
export const RING_ROWS = 320
/**
 * Objects per slab of the ring (2.6 MB, and 3.6 MB where HAProxy has more than the core metrics): small enough for a
 * laptop, large enough that 20,000 objects are 79 slabs.
 */
export const RING_SLAB_OBJECTS = 256
/** Objects per row of the crash tail: the core metrics of it still fit into one LMDB page, however busy they are. */
export const TAIL_BLOCK_OBJECTS = 125
/**
 * Seconds kept in the crash tail before those that are in chunks: the longest time between two chunks of one object,
 * and some more. A restart reads all of it.
 */
export const TAIL_KEPT_S = 130
/**
 * Seconds that stand in the crash tail alone at most, until LMDB gets their chunks in one transaction; fewer where it
 * would have more to do at once than with so many seconds of objects. The ring must still hold their open chunks.
 */
export const CHUNKS_EVERY_S = 60
export const CHUNKS_AT_ONCE = 20_000
/** Seconds between two stored copies of the same counters; must be well below TAIL_KEPT_S. */
export const BASELINE_EVERY_S = 60
/** Seconds written in one transaction of the archive at most; a longer time without commits takes several. */
export const SECONDS_PER_COMMIT = 10
/** Seconds that chunks outlive what a tier answers for: a long answer that began at the edge is sent to its end. */
export const TRIM_GRACE_S = 120
/** Gaps that the archive remembers: enough for the long ones of years, and few to write each minute. */
export const GAPS_MAX = 16
/** Expired chunks of a tier that one transaction may remove at least; where there are many objects, more. */
export const TRIM_KEYS_MIN = 1_000
/** Seconds without a sample after which an object is marked as gone and its column of the ring may be reused. */
export const OBJECT_GONE_AFTER_S = 600
/**
 * Hard cap of objects with a column in the ring: 24 KB of memory each. Further objects are refused, and the log says
 * so.
 */
export const ARCHIVE_OBJECTS_MAX = 50_000
/**
 * Named databases of the archive's environment: catalog, meta, baseline, tail, five tiers and room for new generations.
 */
export const ARCHIVE_DATABASES_MAX = 24
/** Tiers of an archive at most. */
export const ARCHIVE_TIERS_MAX = 8
/** Address space of the archive at the start; LMDB grows it by itself. */
export const ARCHIVE_MAP_BYTES = 256 * 1024 * 1024
/** Room kept free at the end of a store's file, so that a transaction never meets a full disk: what one can take. */
export const ROOM_BYTES_MIN = 1_024 * 1_024
export const ROOM_BYTES_PER_OBJECT = 1_024
/**
 * Room for the configuration: the pages of LMDB that writing one row copies, its leaf and a split one; the contents of
 * the row are counted separately.
 */
export const ROOM_BYTES_PER_RECORD = 8 * 1_024
/**
 * Part of the configuration's room, for small records alone (logins, jobs, removals): on a full disk somebody must be
 * able to log in and make room.
 */
export const ROOM_BYTES_RESERVED = 1_024 * 1_024
/**
 * The audit log: size of a file with some ten thousand entries, number of files, and number of files while they are
 * young.
 */
export const AUDIT_SEGMENT_BYTES_MAX = 4 * 1_024 * 1_024
export const AUDIT_SEGMENTS_MAX = 128
export const AUDIT_YOUNG_SEGMENTS_MAX = 256
/** Young segments from which on room is short, and an author with an eighth of `AUDIT_SEGMENTS_MAX` is slowed down. */
export const AUDIT_SHORT_SEGMENTS = 64
/** The pace: 32 bytes a second are 250 megabytes in the 90 days that are kept by default. */
export const AUDIT_PACE = { burst_bytes: 64 * 1_024, bytesPerSecond: 32 } as const
/** Bytes of the entries in one answer; the rest comes with the next request. */
export const AUDIT_ANSWER_BYTES_MAX = 1_024 * 1_024
