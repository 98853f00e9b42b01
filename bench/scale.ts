/**
 * `npm run bench -- --smoke [NAME…]` runs everything once and small, so that the tests find a benchmark that broke. Its
 * figures mean nothing.
 */
const isSmoke = process.argv.includes('--smoke')

/** How much of something a benchmark takes. */
export const scaled = <T>(full: T, smoke: T): T => (isSmoke ? smoke : full)
