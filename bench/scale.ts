/**
 * `npm run bench -- --smoke [NAME…]` runs each benchmark once and at a small size, so that the tests find a broken one.
 * The figures of such a run mean nothing.
 */
const isSmoke = process.argv.includes('--smoke')

/** Chooses between the size of a full run and of a smoke run. */
export const scaled = <T>(full: T, smoke: T): T => (isSmoke ? smoke : full)
