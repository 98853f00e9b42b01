/** Requests of one session at the same time; endless streams occupy their places for long. */
export const STREAMS_MAX = 1_024
/** Bytes of one stream that may be sent before they are read. With all streams unread at once, this is 128 MiB. */
const STREAM_WINDOW_BYTES = 128 * 1024
/** Node renews this window as soon as bytes arrive, so it limits the bytes on their way, not those in memory. */
export const SESSION_WINDOW_BYTES = 1024 * 1024

/** The limits that both ends of a session set for each other. */
export const HTTP2_OPTIONS = {
  settings: {
    enablePush: false,
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxConcurrentStreams: STREAMS_MAX,
    maxHeaderListSize: 64 * 1024,
  },
  maxHeaderListPairs: 64,
  /** In megabytes. Windows limit the data of streams; this limits everything around them. */
  maxSessionMemory: 256,
  // Clients that disconnect cause many stream resets, and none may end the session that all share: Node's defaults are
  // for public servers.
  streamResetBurst: 100_000,
  streamResetRate: 10_000,
} as const
