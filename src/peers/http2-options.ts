/** Requests of one session at the same time; streams without an end take their places for long. */
export const STREAMS_MAX = 1_024
/** Bytes of one stream, sent and not read yet. With all of them unread at once, it is 128 MiB. */
const STREAM_WINDOW_BYTES = 128 * 1024
/** Node gives it back as soon as bytes have come, so it says how much is on its way, not how much is kept. */
export const SESSION_WINDOW_BYTES = 1024 * 1024

/** What both ends of a session allow each other. */
export const HTTP2_OPTIONS = {
  settings: {
    enablePush: false,
    initialWindowSize: STREAM_WINDOW_BYTES,
    maxConcurrentStreams: STREAMS_MAX,
    maxHeaderListSize: 64 * 1024,
  },
  maxHeaderListPairs: 64,
  /** Megabytes. Windows bound what streams hold; this is for what is said around them. */
  maxSessionMemory: 256,
  // Clients that go away make us reset many streams, and none of them may end the session of all: Node's own bounds are
  // for servers that anybody can ask.
  streamResetBurst: 100_000,
  streamResetRate: 10_000,
} as const
