/** Named limits of the stores. Every number that bounds memory, disk or time is here, with its reason. */

/** Seconds that a counter interval may last and still be spread over its buckets; a longer one is unknown. */
export const ARCHIVE_HEARTBEAT_S = 5
/** Seconds served from the ring in memory. */
export const RING_SERVED_S = 300
/** Rows of the ring: those served, plus slack for the rows written while a reader copies. */
export const RING_ROWS = 320
/**
 * Objects per slab of the ring (2.6 MB, and 3.6 MB where HAProxy has more than the core metrics): small enough for a
 * laptop, large enough that 20,000 objects are 79 slabs.
 */
export const RING_SLAB_OBJECTS = 256
/**
 * Objects per row of the crash tail. Their core metrics fit into one LMDB page, however busy they are: earlier versions
 * kept the tail in LMDB.
 */
export const TAIL_BLOCK_OBJECTS = 125
/**
 * Seconds kept in the crash tail before those that are only there: the longest time between two chunks of one object,
 * and some more. A restart reads all of it.
 */
export const TAIL_KEPT_S = 130
/**
 * Maximum of the seconds that are only in the crash tail, until one transaction stores their chunks in LMDB; fewer
 * where the transaction would have more to do than CHUNKS_AT_ONCE, in seconds times objects. The ring must still hold
 * their open chunks.
 */
export const CHUNKS_EVERY_S = 60
export const CHUNKS_AT_ONCE = 20_000
/** Seconds between two stored copies of the same counters; must be well below TAIL_KEPT_S. */
export const BASELINE_EVERY_S = 60
/** Maximum of the seconds in one transaction of the archive; a longer time without commits takes several. */
export const SECONDS_PER_COMMIT = 10
/** Seconds that chunks outlive a tier's coverage, so that a long answer that began at its edge can be completed. */
export const TRIM_GRACE_S = 120
/** Gaps that the archive remembers: enough for the long ones of years, and few enough to write each minute. */
export const GAPS_MAX = 16
/** Minimum of the expired chunks that one transaction may remove from a tier; more where there are many objects. */
export const TRIM_KEYS_MIN = 1_000
/** Seconds without a sample after which an object is marked as gone and its slot in the ring may be reused. */
export const OBJECT_GONE_AFTER_S = 600
/** Hard cap of objects with a slot in the ring: 24 KB of memory each. Further objects are refused, and logged. */
export const ARCHIVE_OBJECTS_MAX = 50_000
/**
 * Named databases of the archive's environment: catalog, meta, baseline, tail, five tiers and room for new generations.
 */
export const ARCHIVE_DATABASES_MAX = 24
/** Maximum number of tiers in an archive. */
export const ARCHIVE_TIERS_MAX = 8
/** Initial address space of the archive; LMDB grows it. */
export const ARCHIVE_MAP_BYTES = 256 * 1024 * 1024
/** Room kept free at the end of a store's file, enough for one transaction, so that none meets a full disk. */
export const ROOM_BYTES_MIN = 1_024 * 1_024
export const ROOM_BYTES_PER_OBJECT = 1_024
/**
 * Room per row of the configuration: the LMDB pages that writing a row copies, its leaf and a split one; the contents
 * of the row are counted separately.
 */
export const ROOM_BYTES_PER_RECORD = 8 * 1_024
/**
 * Part of the configuration's room, only for small records (logins, jobs, removals): on a full disk people must be able
 * to log in and free room.
 */
export const ROOM_BYTES_RESERVED = 1_024 * 1_024
/**
 * The audit log: size of a file with some ten thousand entries, number of files, and number of files while they are
 * young.
 */
export const AUDIT_SEGMENT_BYTES_MAX = 4 * 1_024 * 1_024
export const AUDIT_SEGMENTS_MAX = 128
export const AUDIT_YOUNG_SEGMENTS_MAX = 256
/**
 * Number of young segments from which on room is short, and an author with an eighth of `AUDIT_SEGMENTS_MAX` is slowed
 * down.
 */
export const AUDIT_SHORT_SEGMENTS = 64
/** Pace of such authors: 32 bytes a second are 250 megabytes in the 90 days that are kept by default. */
export const AUDIT_PACE = { burst_bytes: 64 * 1_024, bytesPerSecond: 32 } as const
/** Bytes of the entries in one answer; the rest follows with the next request. */
export const AUDIT_ANSWER_BYTES_MAX = 1_024 * 1_024
